// A small map of the courier's locations: a grid of latitudes and longitudes, true to scale. There are no streets.
import type { Location } from "../api/schema";
import { english } from "./time";

export interface Drawing {
  /** The number of decimals that distinguishes two lines of the grid. */
  digits: number;
  /** A length in metres, and its share of the width. */
  scale: { metres: number; share: number };
  /** Lines from north to south, at x from 0 to 1. */
  meridians: { x: number; degrees: number }[];
  /** Lines from west to east, at y from 0 (north) to 1. */
  parallels: { y: number; degrees: number }[];
  /** The courier's locations since the page was opened, the latest last. */
  trail: { x: number; y: number }[];
}

const METRES_PER_DEGREE = 111_320;
/** The smallest distance from the middle to the edge, in degrees of latitude: about 600 metres. */
const SMALLEST_REACH = 0.0055;
const LINES = 4;

/**
 * The latest location is in the middle; the scale changes until the earlier ones are inside. `aspect` is the picture's height divided by
 * its width.
 */
export function draw(places: readonly Pick<Location, "latitude" | "longitude">[], aspect = 1): Drawing | undefined {
  const last = places.at(-1);
  if (!last || !Number.isFinite(last.latitude) || !Number.isFinite(last.longitude)) return undefined;
  // A degree of longitude is shorter than one of latitude by this factor.
  const narrowing = Math.max(0.02, Math.cos((last.latitude * Math.PI) / 180));
  const offsets = places.map(({ latitude, longitude }) => ({
    east: wrap(longitude - last.longitude) * narrowing,
    north: latitude - last.latitude,
  }));
  const farthest = Math.max(...offsets.flatMap(({ east, north }) => [Math.abs(east), Math.abs(north) / aspect]));
  const reach = Math.max(SMALLEST_REACH, farthest * 1.15);
  const step = niceStep((2 * reach) / LINES);
  // The labels of meridians are side by side and need more space.
  const eastStep = niceStep((2 * reach) / narrowing / 1.6);
  const width = 2 * reach * METRES_PER_DEGREE;
  const metres = niceStep(width / LINES);
  return {
    digits: digitsOf(Math.min(step, eastStep)),
    scale: { metres, share: metres / width },
    meridians: multiples(last.longitude, reach / narrowing, eastStep).map(degrees => ({
      degrees: wrap(degrees),
      x: 0.5 + ((degrees - last.longitude) * narrowing) / (2 * reach),
    })),
    parallels: multiples(last.latitude, reach, step)
      .filter(degrees => Math.abs(degrees) <= 90)
      .map(degrees => ({ degrees, y: 0.5 - (degrees - last.latitude) / (2 * reach) })),
    trail: offsets.map(({ east, north }) => ({ x: 0.5 + east / (2 * reach), y: 0.5 - north / (2 * reach) })),
  };
}

/** `37.804° N, 122.271° W` */
export function formatPlace(
  { latitude, longitude }: Pick<Location, "latitude" | "longitude">,
  locale = english(),
): string {
  return `${formatDegrees(latitude, "N", "S", 4, locale)}, ${formatDegrees(longitude, "E", "W", 4, locale)}`;
}

export function formatDegrees(
  degrees: number,
  plus: string,
  minus: string,
  digits: number,
  locale = english(),
): string {
  const number = new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${number.format(Math.abs(degrees))}° ${degrees < 0 ? minus : plus}`;
}

function digitsOf(step: number): number {
  return Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
}

/** Adds a location, if it differs from the last one. */
export function extend<P extends Pick<Location, "latitude" | "longitude" | "at">>(
  seen: readonly P[],
  place: P,
): readonly P[] {
  const last = seen.at(-1);
  if (last && (last.at >= place.at || (last.latitude === place.latitude && last.longitude === place.longitude))) {
    return last.at >= place.at ? seen : [...seen.slice(0, -1), place];
  }
  return [...seen.slice(-19), place];
}

function multiples(middle: number, reach: number, step: number): number[] {
  const lines: number[] = [];
  for (let line = Math.ceil((middle - reach) / step); line * step <= middle + reach; line += 1) lines.push(line * step);
  return lines;
}

/** 1, 2 or 5 times a power of ten, at most the given size. */
function niceStep(size: number): number {
  const power = 10 ** Math.floor(Math.log10(size) + 1e-9);
  const factor = [5, 2, 1].find(factor => factor * power <= size * (1 + 1e-9)) ?? 1;
  return factor * power;
}

function wrap(degrees: number): number {
  return ((((degrees + 180) % 360) + 360) % 360) - 180;
}
