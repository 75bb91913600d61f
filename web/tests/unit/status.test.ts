import assert from "node:assert/strict";
import { test } from "node:test";
import openapi from "../../../crates/order-history/query-api/openapi.json";
import {
  deliveryStanding,
  ORDER_STATUSES,
  orderStanding,
  paymentStanding,
  type Standing,
  ticketStanding,
} from "../../src/page/status";

/** The states in a schema; it also allows any other text. */
const statesOf = (schema: unknown): string[] => {
  const found = JSON.stringify(schema).match(/"enum":(\[[^\]]*\])/)?.[1];
  return found ? (JSON.parse(found) as string[]) : [];
};

test("every state of the contract has a text", () => {
  const { Order, Ticket, Delivery, Payment } = openapi.components.schemas;
  const kinds: [unknown, (status: string) => Standing][] = [
    [Order.properties.status, orderStanding],
    [Ticket.properties.status, ticketStanding],
    [Delivery.properties.status, deliveryStanding],
    [Payment.properties.status, paymentStanding],
  ];
  for (const [schema, standing] of kinds) {
    const states = statesOf(schema);
    assert.ok(states.length >= 3);
    for (const state of states) assert.notEqual(standing(state).text, state);
  }
});

test("the filter offers the states that the API accepts", () => {
  const parameters = openapi.paths["/orders"].get.parameters as { name?: string; schema?: { enum?: string[] } }[];
  const taken = parameters.find(({ name }) => name === "status")?.schema?.enum;
  assert.deepEqual(ORDER_STATUSES.map(({ status }) => status).toSorted(), taken?.toSorted());
});

test("an unknown state is shown unchanged", () => {
  assert.deepEqual(orderStanding("ON_THE_MOON"), { text: "ON_THE_MOON", tone: "plain" });
  assert.deepEqual(orderStanding("constructor"), { text: "constructor", tone: "plain" });
});
