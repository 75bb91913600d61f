// Money: decimal texts of the order history, minor units of Payments, and the formats for display and input.

/** The limits of Payments' `amount`. */
export const MAX_AMOUNT = 99_999_999;

/** The number of decimals of a currency: 2 for USD, 0 for JPY. */
export function minorDigits(currency: string): number {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2;
  } catch {
    return 2;
  }
}

/** Formats a decimal text such as `40.52`. A text that is not a number is returned unchanged, with the currency. */
export function formatDecimal(decimal: string, currency: string, locale?: string): string {
  if (!/^-?\d+(\.\d+)?$/.test(decimal)) return `${decimal} ${currency}`;
  const given = decimal.split(".")[1]?.length ?? 0;
  try {
    const digits = Math.max(minorDigits(currency), Math.min(given, 20));
    const format = new Intl.NumberFormat(locale, { style: "currency", currency, maximumFractionDigits: digits });
    return format.format(decimal as Intl.StringNumericLiteral);
  } catch {
    return `${decimal} ${currency}`;
  }
}

/** Formats an amount in minor units. */
export function formatMinor(amount: number, currency: string, locale?: string): string {
  return formatDecimal(minorToDecimal(amount, currency), currency, locale);
}

/** `2818` and USD: `28.18`. */
export function minorToDecimal(amount: number, currency: string): string {
  const digits = minorDigits(currency);
  if (digits === 0) return String(amount);
  const text = String(Math.abs(amount)).padStart(digits + 1, "0");
  return `${amount < 0 ? "-" : ""}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** `40.52` and USD: `4052`; undefined if the text is not an amount, or has more decimals than the currency. */
export function decimalToMinor(decimal: string, currency: string): number | undefined {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(decimal);
  if (!match) return undefined;
  const digits = minorDigits(currency);
  const fraction = (match[2] ?? "").replace(/0+$/, "");
  if (fraction.length > digits) return undefined;
  const minor = Number(`${match[1]}${fraction.padEnd(digits, "0")}`);
  return Number.isSafeInteger(minor) ? minor : undefined;
}

/** The product of a decimal text and a count, exactly. */
export function times(decimal: string, quantity: number): string | undefined {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(decimal);
  if (!match || !Number.isSafeInteger(quantity)) return undefined;
  const fraction = match[2] ?? "";
  const product = (BigInt(`${match[1]}${fraction}`) * BigInt(quantity)).toString().padStart(fraction.length + 1, "0");
  return fraction ? `${product.slice(0, -fraction.length)}.${product.slice(-fraction.length)}` : product;
}

/** The text of an amount in an input field: the locale's decimal sign, no currency, no grouping. */
export function typed(amount: number, currency: string, locale?: string): string {
  return minorToDecimal(amount, currency).replace(".", separators(locale).decimal);
}

/** Parses the typed amount into minor units, or returns the mistake. */
export function readTyped(text: string, currency: string, locale?: string): number | { mistake: string } {
  const example = typed(decimalToMinor("12", currency) ?? 12, currency, locale);
  const mistake = { mistake: `Enter an amount such as ${example}.` };
  const { decimal, group } = separators(locale);
  const digits = minorDigits(currency);
  const compact = text.replace(/[\s\u00a0\u202f'’]/g, "");
  const grouped = new RegExp(`^\\d{1,3}([${escaped(group)}]\\d{3})+([${escaped(decimal)}]\\d{1,${digits || 1}})?$`);
  const plain = new RegExp(`^\\d+([.,${escaped(decimal)}]\\d{1,${digits || 1}})?$`);
  let number: string;
  if (grouped.test(compact)) number = compact.replaceAll(group, "").replace(decimal, ".");
  else if (plain.test(compact)) number = compact.replace(/[^\d]/, ".");
  else return mistake;
  const minor = decimalToMinor(number, currency);
  if (minor === undefined) return mistake;
  if (minor < 1) return { mistake: "The amount must be more than zero." };
  if (minor > MAX_AMOUNT) return { mistake: `The amount can be at most ${formatMinor(MAX_AMOUNT, currency, locale)}.` };
  return minor;
}

function separators(locale?: string): { decimal: string; group: string } {
  const parts = new Intl.NumberFormat(locale, { numberingSystem: "latn" }).formatToParts(1_234_567.8);
  const find = (type: string, otherwise: string) => parts.find(part => part.type === type)?.value ?? otherwise;
  const decimal = find("decimal", ".");
  return { decimal, group: find("group", decimal === "," ? "." : ",") };
}

function escaped(text: string): string {
  return text.replace(/[\\\]^-]/g, "\\$&");
}
