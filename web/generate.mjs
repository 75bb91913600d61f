// Generates the types of the two APIs from the documents that the services serve.
import { writeFile } from "node:fs/promises";
import openapiTypescript, { astToString } from "openapi-typescript";

const documents = {
  "order-history": "crates/order-history/query-api/openapi.json",
  payments: "crates/payments/payment-api/openapi.json",
};

for (const [name, path] of Object.entries(documents)) {
  const types = await openapiTypescript(new URL(`../${path}`, import.meta.url), { alphabetize: true });
  const note = `// Made by \`make generated\` from ${path}. Changes here are lost.\n\n`;
  await writeFile(new URL(`src/api/${name}.d.ts`, import.meta.url), note + astToString(types));
}
