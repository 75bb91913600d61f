import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decimalToMinor,
  formatDecimal,
  formatMinor,
  minorDigits,
  minorToDecimal,
  readTyped,
  times,
  typed,
} from "../../src/page/money";

/** Intl puts narrow and no-break spaces between the number and the currency. */
const plain = (text: string) => text.replace(/\s/gu, " ");

test("a currency has the decimals of its minor unit", () => {
  for (const [currency, digits] of [
    ["USD", 2],
    ["JPY", 0],
    ["KWD", 3],
  ] as const) {
    assert.equal(minorDigits(currency), digits, currency);
  }
});

test("a decimal text is formatted for the reader's locale, exactly", () => {
  for (const [decimal, currency, locale, shown] of [
    ["40.52", "USD", "en-US", "$40.52"],
    ["40.5", "USD", "en-US", "$40.50"],
    ["1234.5", "EUR", "de-DE", "1.234,50 €"],
    ["500", "JPY", "en-US", "¥500"],
    ["0.125", "USD", "en-US", "$0.125"],
    ["98989899998999.99", "USD", "en-US", "$98,989,899,998,999.99"],
    ["lots", "USD", "en-US", "lots USD"],
    ["12.00", "not a currency", "en-US", "12.00 not a currency"],
  ] as const) {
    assert.equal(plain(formatDecimal(decimal, currency, locale)), shown);
  }
});

test("minor units and decimal texts convert into each other", () => {
  for (const [minor, currency, decimal] of [
    [2818, "USD", "28.18"],
    [5, "USD", "0.05"],
    [500, "JPY", "500"],
    [1234, "KWD", "1.234"],
  ] as const) {
    assert.equal(minorToDecimal(minor, currency), decimal);
    assert.equal(decimalToMinor(decimal, currency), minor);
  }
  assert.equal(formatMinor(2818, "USD", "en-US"), "$28.18");
  assert.equal(decimalToMinor("9.9500", "USD"), 995);
  assert.equal(decimalToMinor("9.955", "USD"), undefined);
  assert.equal(decimalToMinor("1.5", "JPY"), undefined);
  assert.equal(decimalToMinor("9".repeat(30), "USD"), undefined);
});

test("a line's price is the product, without the errors of binary fractions", () => {
  assert.equal(times("12.34", 3), "37.02");
  assert.equal(times("0.07", 3), "0.21");
  assert.equal(times("99999999999.99", 999), "99899999999990.01");
  assert.equal(times("7", 2), "14");
  assert.equal(times("free", 2), undefined);
});

test("typed amounts are parsed in the reader's format and in the plain format", () => {
  for (const [text, currency, locale, minor] of [
    ["9.95", "USD", "en-US", 995],
    [" 9,95 ", "USD", "en-US", 995],
    ["1,000", "USD", "en-US", 100_000],
    ["1,234.5", "USD", "en-US", 123_450],
    ["9,95", "EUR", "de-DE", 995],
    ["1.234,50", "EUR", "de-DE", 123_450],
    ["9.95", "EUR", "de-DE", 995],
    ["1 234,50", "EUR", "fr-FR", 123_450],
    ["500", "JPY", "en-US", 500],
    ["12", "USD", "en-US", 1200],
  ] as const) {
    assert.equal(readTyped(text, currency, locale), minor, `${text} in ${locale}`);
  }
});

test("an invalid amount gives a mistake with an example", () => {
  for (const text of ["", "-3", "abc", "1.999", "1.2.3", "$5", "1e3"]) {
    assert.deepEqual(readTyped(text, "USD", "en-US"), { mistake: "Enter an amount such as 12.00." }, text);
  }
  assert.deepEqual(readTyped("1.5", "JPY", "en-US"), { mistake: "Enter an amount such as 12." });
  assert.deepEqual(readTyped("0", "USD", "en-US"), { mistake: "The amount must be more than zero." });
  assert.deepEqual(readTyped("1000000.00", "USD", "en-US"), { mistake: "The amount can be at most $999,999.99." });
});

test("the text in the field can be parsed again", () => {
  for (const [currency, locale] of [
    ["USD", "en-US"],
    ["EUR", "de-DE"],
    ["JPY", "ja-JP"],
    ["KWD", "ar-KW"],
  ] as const) {
    assert.equal(readTyped(typed(995, currency, locale), currency, locale), 995);
  }
});
