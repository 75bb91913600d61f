// The names that the page uses for the types of both APIs.
import type { components as OrderHistoryApi } from "./order-history";
import type { components as PaymentsApi } from "./payments";

export type Order = OrderHistoryApi["schemas"]["Order"];
export type OrderEntry = OrderHistoryApi["schemas"]["OrderEntry"];
export type OrderHistory = OrderHistoryApi["schemas"]["OrderHistory"];
export type TimelineEntry = OrderHistoryApi["schemas"]["TimelineEntry"];
export type LineItem = OrderHistoryApi["schemas"]["LineItem"];
export type Address = OrderHistoryApi["schemas"]["Address"];
export type Delivery = OrderHistoryApi["schemas"]["Delivery"];
export type Location = OrderHistoryApi["schemas"]["Location"];
export type Ticket = OrderHistoryApi["schemas"]["Ticket"];
export type Payment = OrderHistoryApi["schemas"]["Payment"];
export type PaymentIntent = PaymentsApi["schemas"]["PaymentIntent"];
export type NewPaymentIntent = PaymentsApi["schemas"]["NewPaymentIntent"];

type OrderHistoryProblem = OrderHistoryApi["schemas"]["Problem"];
type PaymentsProblem = PaymentsApi["schemas"]["Problem"];
export type ProblemType = OrderHistoryProblem["type"] | PaymentsProblem["type"];
export type Mistake = OrderHistoryProblem["errors"] extends (infer One)[] | undefined ? One : never;
