// An order in a list.
import type { OrderEntry } from "../../api/schema";
import { formatDecimal } from "../money";
import { orderHash } from "../route";
import { deliveryStanding, orderStanding, paymentStanding, ticketStanding } from "../status";
import { Ago, Chip } from "./parts";

const MOST_ITEMS = 4;

interface CardProps {
  order: OrderEntry;
  currency: string;
  now: number;
  isFresh: boolean;
}

export function OrderCard({ order, currency, now, isFresh }: CardProps) {
  const { orderId, restaurantName, lineItems = [], orderTotal, status, ticket, delivery, payment } = order;
  const standings = [
    ticket?.status && { lane: "kitchen", name: "Kitchen", ...ticketStanding(ticket.status) },
    delivery?.status && { lane: "delivery", name: "Delivery", ...deliveryStanding(delivery.status) },
    payment && { lane: "payment", name: "Payment", ...paymentStanding(payment.status) },
  ].filter(standing => !!standing);
  const rest = lineItems.length - MOST_ITEMS;
  return (
    <article class={isFresh ? "card order-card fresh" : "card order-card"} aria-label={`Order ${orderId}`}>
      <div class="order-head">
        <h2>
          <a href={orderHash(orderId)}>
            {restaurantName && <bdi class="restaurant">{restaurantName}</bdi>}{" "}
            <span class="order-id">
              Order <bdi>{orderId}</bdi>
            </span>
          </a>
        </h2>
        {orderTotal !== undefined && <p class="total">{formatDecimal(orderTotal, currency)}</p>}
      </div>
      <p class="items">
        {lineItems.slice(0, MOST_ITEMS).map(({ menuItemId, name, quantity }, index) => (
          <span key={`${menuItemId} ${index}`}>
            <span class="times">{quantity} ×</span> <bdi>{name}</bdi>
          </span>
        ))}
        {rest > 0 && <span>and {rest} more</span>}
      </p>
      <div class="row order-foot">
        {status && <Chip standing={orderStanding(status)} />}
        <ul class="row standings">
          {standings.map(({ lane, name, text, tone }) => (
            <li key={lane} class={`dot ${tone === "bad" ? tone : lane}`}>
              <span>
                <span class="hidden">{name}: </span>
                <bdi>{text}</bdi>
              </span>
            </li>
          ))}
        </ul>
        <span class="quiet when">
          <Ago at={order.orderCreationTime} now={now} />
        </span>
      </div>
    </article>
  );
}
