// Events of orders, as FTGO's services publish them.
import { randomBytes, randomUUID } from "node:crypto";

export interface Message {
  eventType: string;
  body: string;
}

export interface Publisher {
  publish(messages: readonly Message[]): Promise<void>;
}

interface Item {
  name: string;
  price: string;
  quantity: number;
}

interface NewOrder {
  consumerId: string;
  restaurant?: string;
  items?: readonly Item[];
  minutesAgo?: number;
}

const AGGREGATES: Record<string, string> = { Ord: "Order", Tic: "Ticket", Del: "Delivery", Pay: "PaymentIntent" };

/** A new order. Its methods make messages; they publish nothing. */
export class Order {
  readonly id: string;
  readonly consumerId: string;
  readonly #new: NewOrder;
  readonly #deliveryId = randomUUID();
  #last: number;
  /** Milliseconds between two events. */
  #step = 1000;

  constructor(order: NewOrder, id = randomUUID().slice(0, 13)) {
    this.id = id;
    this.consumerId = order.consumerId;
    this.#new = order;
    this.#last = Date.now() - (order.minutesAgo ?? 5) * 60_000;
  }

  get total(): string {
    const cents = this.#items().reduce((sum, item) => sum + Math.round(Number(item.price) * 100) * item.quantity, 0);
    return (cents / 100).toFixed(2);
  }

  /** The total at the end of the story: one more of the first item. */
  get revisedTotal(): string {
    return (Number(this.total) + Number(this.#items()[0]?.price)).toFixed(2);
  }

  #items(): readonly Item[] {
    return this.#new.items ?? [{ name: "Chicken Vindaloo", price: "12.34", quantity: 2 }];
  }

  created(): Message {
    const lineItems = this.#items().map((item, index) => ({ menuItemId: String(index + 1), ...item }));
    return this.event("OrderCreated", {
      orderDetails: { consumerId: this.consumerId, restaurantId: 1, orderTotal: this.total, lineItems },
      deliveryAddress: { street1: "9 Amazing View", city: "Oakland", state: "CA", zip: "94612" },
      restaurantName: this.#new.restaurant ?? "Ajanta",
    });
  }

  /** The next event of this order, one step after the previous one. */
  event(eventType: string, payload: Record<string, unknown> = {}): Message {
    const aggregate = AGGREGATES[eventType.slice(0, 3)] ?? "Order";
    const ofItsOwn = aggregate === "Delivery" || aggregate === "PaymentIntent";
    const headers = {
      ID: `${this.#last.toString(16).padStart(16, "0")}-${randomBytes(8).toString("hex")}`,
      "event-type": eventType,
      "event-aggregate-type": aggregate,
      "event-aggregate-id": ofItsOwn ? this.#deliveryId : this.id,
    };
    this.#last += this.#step;
    const content = ofItsOwn ? { orderId: this.id, ...payload } : payload;
    return { eventType, body: JSON.stringify({ headers, payload: JSON.stringify(content) }) };
  }

  /** From now on, events have the current time. */
  now(): this {
    this.#last = Math.max(this.#last, Date.now());
    return this;
  }

  /** An order in delivery, with everything that a page can show. Its events are from the last half hour. */
  story(): Message[] {
    const first = this.#items()[0];
    this.#step = 3 * 60_000;
    this.#last = Date.now() - 11 * this.#step;
    const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
    return [
      this.created(),
      this.event("OrderAuthorized"),
      this.event("TicketCreated"),
      this.event("TicketAccepted", { readyBy: inMinutes(20) }),
      this.event("OrderRevised", {
        orderRevision: { revisedOrderLineItems: [{ menuItemId: "1", quantity: (first?.quantity ?? 0) + 1 }] },
        currentOrderTotal: this.total,
        newOrderTotal: this.revisedTotal,
      }),
      this.event("TicketPreparationStarted"),
      this.event("DeliveryScheduled", {
        courierId: "7",
        estimatedPickupTime: inMinutes(22),
        estimatedDeliveryTime: inMinutes(40),
      }),
      this.event("TicketPreparationCompleted"),
      this.event("TicketPickedUp"),
      this.event("DeliveryPickedUp"),
      this.event("DeliveryLocationUpdated", { latitude: 37.8231, longitude: -122.2601 }),
    ];
  }
}

export const newConsumer = () => `consumer-${randomUUID().slice(0, 8)}`;
