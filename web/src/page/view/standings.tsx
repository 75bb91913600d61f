// The status of kitchen, delivery and payment.
import type { ComponentChildren } from "preact";
import type { Order } from "../../api/schema";
import { formatMinor } from "../money";
import { deliveryStanding, paymentStanding, type Standing, ticketStanding } from "../status";
import { Clock } from "./parts";

export function Standings({ order, now }: { order: Order; now: number }) {
  const { ticket, delivery, payment } = order;
  const isReady = ["READY_FOR_PICKUP", "PICKED_UP", "CANCELLED"].includes(ticket?.status ?? "");
  const isDone = delivery?.status === "DELIVERED";
  return (
    <ul class="tiles" aria-label="Status">
      <Tile
        lane="kitchen"
        name="Kitchen"
        otherwise="Nothing yet"
        standing={ticket?.status ? ticketStanding(ticket.status) : undefined}
      >
        {ticket?.readyBy && !isReady && (
          <>
            ready by <Clock at={ticket.readyBy} now={now} />
          </>
        )}
      </Tile>
      <Tile
        lane="delivery"
        name="Delivery"
        otherwise="Nothing yet"
        standing={delivery?.status ? deliveryStanding(delivery.status) : undefined}
      >
        {delivery?.estimatedDeliveryTime && !isDone && (
          <>
            expected <Clock at={delivery.estimatedDeliveryTime} now={now} />
          </>
        )}
      </Tile>
      <Tile
        lane="payment"
        name="Payment"
        otherwise="Not paid yet"
        standing={payment ? paymentStanding(payment.status) : undefined}
      >
        {payment && formatMinor(payment.amount, payment.currency)}
      </Tile>
    </ul>
  );
}

interface TileProps {
  lane: string;
  name: string;
  standing: Standing | undefined;
  otherwise: string;
  children: ComponentChildren;
}

function Tile({ lane, name, standing, otherwise, children }: TileProps) {
  return (
    <li class={`tile ${lane}`}>
      <span class="dot name">{name}</span>
      <strong class={standing ? undefined : "none"}>
        <bdi>{standing?.text ?? otherwise}</bdi>
      </strong>
      <span class="quiet">{children}</span>
    </li>
  );
}
