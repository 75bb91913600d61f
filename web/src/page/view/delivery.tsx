// The delivery: address, times, and the courier's last location.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { Location, Order, Address as PostalAddress } from "../../api/schema";
import { draw, extend, formatDegrees, formatPlace } from "../courier";
import { english, formatRelative } from "../time";
import { Ago, Clock } from "./parts";

export function DeliveryCard({ order, now }: { order: Order; now: number }) {
  const { deliveryAddress, deliveryTime, delivery = {} } = order;
  const { courierId, estimatedPickupTime, estimatedDeliveryTime, location } = delivery;
  const lines = deliveryAddress ? addressLines(deliveryAddress) : [];
  const facts: [name: string, fact: ComponentChildren][] = [];
  if (lines.length > 0) facts.push(["Deliver to", <Address key="address" lines={lines} />]);
  if (deliveryTime) facts.push(["Requested for", <Clock key="wanted" at={deliveryTime} now={now} />]);
  if (courierId) facts.push(["Courier", <bdi key="courier">{courierId}</bdi>]);
  if (estimatedPickupTime) facts.push(["Pickup planned", <Clock key="pickup" at={estimatedPickupTime} now={now} />]);
  if (estimatedDeliveryTime)
    facts.push(["Arrival planned", <Clock key="arrival" at={estimatedDeliveryTime} now={now} />]);
  if (facts.length === 0 && !location) return null;
  return (
    <section class="card" aria-labelledby="delivery">
      <h2 id="delivery">Delivery</h2>
      <div class={location ? "map-and-facts" : undefined}>
        <dl class="facts">
          {facts.map(([name, fact]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{fact}</dd>
            </div>
          ))}
        </dl>
        {location && <Drawing location={location} now={now} />}
      </div>
    </section>
  );
}

function Address({ lines }: { lines: string[] }) {
  return (
    <address>
      {lines.map((line, index) => (
        <bdi key={`${index} ${line}`}>{line}</bdi>
      ))}
    </address>
  );
}

function addressLines({ street1, street2, city, state, zip }: PostalAddress): string[] {
  const place = [city, [state, zip].filter(part => part).join(" ")].filter(part => part).join(", ");
  return [street1, street2, place].filter((line): line is string => !!line);
}

const WIDTH = 320;
const HEIGHT = 200;
/** The drawing is a square; the picture shows its middle. */
const x = (share: number) => share * WIDTH;
const y = (share: number) => share * WIDTH - (WIDTH - HEIGHT) / 2;

function Drawing({ location, now }: { location: Location; now: number }) {
  const seen = useRef<readonly Location[]>([]);
  seen.current = extend(seen.current, location);
  const drawing = draw(seen.current, HEIGHT / WIDTH);
  if (!drawing) return null;
  const { meridians, parallels, trail, digits, scale } = drawing;
  const last = trail.at(-1);
  const length = x(scale.share);
  const place = formatPlace(location);
  return (
    <figure class="map">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`The courier's last location: ${place}, ${formatRelative(location.at, now)}`}
      >
        {meridians.map(({ x: share, degrees }) => (
          <g key={`m${degrees}`}>
            <line x1={x(share)} y1="0" x2={x(share)} y2={HEIGHT} class="grid" />
            {x(share) > 32 && x(share) < WIDTH - 32 && (
              <text x={x(share)} y={HEIGHT - 6} text-anchor="middle">
                {formatDegrees(degrees, "E", "W", digits)}
              </text>
            )}
          </g>
        ))}
        {parallels.map(({ y: share, degrees }) => (
          <g key={`p${degrees}`}>
            <line x1="0" y1={y(share)} x2={WIDTH} y2={y(share)} class="grid" />
            {y(share) > 14 && y(share) < HEIGHT - 22 && (
              <text x="6" y={y(share) - 4}>
                {formatDegrees(degrees, "N", "S", digits)}
              </text>
            )}
          </g>
        ))}
        <polyline points={trail.map(point => `${x(point.x)},${y(point.y)}`).join(" ")} class="trail" />
        {trail.slice(0, -1).map(point => (
          <circle key={`${point.x} ${point.y}`} cx={x(point.x)} cy={y(point.y)} r="3" class="was" />
        ))}
        {last && <circle cx={x(last.x)} cy={y(last.y)} r="16" class="halo" />}
        {last && <circle cx={x(last.x)} cy={y(last.y)} r="6" class="here" />}
        <g class="north" transform={`translate(${WIDTH - 20} 12)`}>
          <path d="M0 0l5 12-5-3-5 3z" />
          <text y="24" text-anchor="middle">
            N
          </text>
        </g>
        <g class="scale" transform={`translate(${WIDTH - 12 - length} ${HEIGHT - 26})`}>
          <path d={`M0 -4v4h${length}v-4`} />
          <text x={length / 2} y="-5" text-anchor="middle">
            {formatMetres(scale.metres)}
          </text>
        </g>
      </svg>
      <figcaption class="quiet">
        Last location: {place}, <Ago at={location.at} now={now} />
      </figcaption>
    </figure>
  );
}

function formatMetres(metres: number): string {
  const [value, unit] = metres < 950 ? [metres, "meter"] : [metres / 1000, "kilometer"];
  return new Intl.NumberFormat(english(), { style: "unit", unit, maximumSignificantDigits: 2 }).format(value as number);
}
