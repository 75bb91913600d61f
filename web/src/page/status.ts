// The texts and tones for the states of order, kitchen, delivery and payment. An unknown state is shown unchanged.

export type Tone = "good" | "busy" | "bad" | "plain";

export interface Standing {
  text: string;
  tone: Tone;
}

const ORDER: Record<string, Standing> = {
  APPROVAL_PENDING: { text: "Waiting for approval", tone: "busy" },
  APPROVED: { text: "Approved", tone: "good" },
  REJECTED: { text: "Rejected", tone: "bad" },
  CANCELLED: { text: "Cancelled", tone: "bad" },
  REVISION_PENDING: { text: "Change awaits approval", tone: "busy" },
};

const TICKET: Record<string, Standing> = {
  AWAITING_ACCEPTANCE: { text: "Waiting for the kitchen", tone: "busy" },
  ACCEPTED: { text: "Accepted", tone: "busy" },
  PREPARING: { text: "Cooking", tone: "busy" },
  READY_FOR_PICKUP: { text: "Ready for pickup", tone: "good" },
  PICKED_UP: { text: "Picked up", tone: "good" },
  CANCELLED: { text: "Cancelled", tone: "bad" },
};

const DELIVERY: Record<string, Standing> = {
  SCHEDULED: { text: "Scheduled", tone: "busy" },
  PICKED_UP: { text: "On the way", tone: "busy" },
  DELIVERED: { text: "Delivered", tone: "good" },
};

const PAYMENT: Record<string, Standing> = {
  CREATED: { text: "Not paid yet", tone: "plain" },
  CHARGE_REQUESTED: { text: "Payment in progress", tone: "busy" },
  CHARGED: { text: "Paid", tone: "good" },
  CHARGE_FAILED: { text: "Payment failed", tone: "bad" },
};

/** The states in the filter: those of the API's contract. */
export const ORDER_STATUSES = Object.entries(ORDER).map(([status, { text }]) => ({ status, text }));

export const orderStanding = (status: string) => standing(ORDER, status);
export const ticketStanding = (status: string) => standing(TICKET, status);
export const deliveryStanding = (status: string) => standing(DELIVERY, status);
export const paymentStanding = (status: string) => standing(PAYMENT, status);

function standing(known: Record<string, Standing>, status: string): Standing {
  return (Object.hasOwn(known, status) && known[status]) || { text: status, tone: "plain" };
}
