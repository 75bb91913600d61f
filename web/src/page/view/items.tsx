// The items of an order, as on a receipt.
import type { Order } from "../../api/schema";
import { formatDecimal, times } from "../money";

const FEW = 12;
/** Letters of an amount. */
const LONG = 22;

export function Items({ order, currency }: { order: Order; currency: string }) {
  const { lineItems, orderTotal, timeline } = order;
  if (!lineItems && orderTotal === undefined) return null;
  const isRevised = timeline.some(({ type }) => type === "OrderRevised");
  return (
    <section class="card receipt" aria-labelledby="items">
      <h2 id="items">Items</h2>
      {isRevised && <p class="quiet">The order was changed. Quantities and total are up to date.</p>}
      {lineItems && (
        <div class={lineItems.length > FEW ? "scroll" : undefined} {...(lineItems.length > FEW ? SCROLLABLE : {})}>
          <table>
            <thead>
              <tr>
                <th scope="col" class="number">
                  <span class="hidden">Quantity</span>
                </th>
                <th scope="col">
                  <span class="hidden">Dish</span>
                </th>
                <th scope="col" class="number">
                  <span class="hidden">Price</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {lineItems.map(({ menuItemId, name, price, quantity }, index) => {
                const sum = formatDecimal(times(price, quantity) ?? price, currency);
                return (
                  <tr key={`${menuItemId} ${index}`} class={quantity === 0 ? "none" : undefined}>
                    <td class="number">{quantity} ×</td>
                    <td>
                      <bdi>{name}</bdi>
                      {quantity > 1 && <span class="quiet each"> {formatDecimal(price, currency)} each</span>}
                    </td>
                    <td class={sum.length > LONG ? "number long" : "number"}>{sum}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {orderTotal !== undefined && (
        <p class="sum">
          <span>Total</span> <strong class="number">{formatDecimal(orderTotal, currency)}</strong>
        </p>
      )}
    </section>
  );
}

/** A long list scrolls in its own box, also with the keyboard. */
const SCROLLABLE = { tabIndex: 0, role: "group", "aria-label": "Items of the order" } as const;
