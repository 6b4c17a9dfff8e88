// A drawing of a limit: the most units that pass, from idle, if a caller never stops asking. For
// a penalty it shows how long each block of a key lasts.
import { t } from "./i18n";
import { type Limit, of, parse, seconds } from "./limits";

const W = 320;
const H = 150;
const LEFT = 44;
const BOTTOM = 38;
const TOP = 18;

type Point = [number, number];

interface Shape {
  points: Point[];
  end: number;
}

/** curve returns the units that have passed by each time, up to an end: about two periods by
 * default. */
function curve(l: Limit, until = 0): Shape | null {
  const first = l.rates[0];
  if (!first) return null;
  const perSecond = first.count / first.seconds;
  const { punishes, refills, burst_is_count, paces } = of(l);
  if (punishes) return blocks(l);
  if ("warm_up" in l.fields) {
    const warm = seconds(String(l.fields.warm_up));
    const points: Point[] = Array.from({ length: 25 }, (_, i) => {
      const x = (i / 24) * warm;
      return [x, perSecond * (x / 3 + (x * x) / (3 * warm))];
    });
    const last = points[24][1];
    const end = Math.max(until, 2 * warm);
    return { points: [...points, [end, last + perSecond * (end - warm)]], end };
  }
  if (!refills) return windows(l, until);
  const burst = Number(l.fields.burst ?? (burst_is_count ? first.count : 1)) + Number(l.fields.debt ?? 0);
  const end = until || (paces ? 10 / perSecond : 2 * Math.max(burst / perSecond, 1 / perSecond));
  return { points: [[0, 0], [0, burst], [end, burst + end * perSecond]], end };
}

/** windows draws the steps of windows: each window lets its units through at once. */
function windows(l: Limit, until: number): Shape {
  const longest = l.rates.reduce((a, b) => (b.seconds > a.seconds ? b : a));
  const shortest = l.rates.reduce((a, b) => (b.seconds < a.seconds ? b : a));
  const end = until || 2 * longest.seconds;
  const points: Point[] = [[0, 0]];
  let passed = 0;
  const steps = Math.min(Math.ceil(end / shortest.seconds), 200);
  for (let i = 0; i < steps; i++) {
    const at = (i * end) / steps;
    const window = Math.floor(at / longest.seconds);
    const now = Math.min(passed + shortest.count, (window + 1) * longest.count);
    points.push([at, passed], [at, now]);
    passed = now;
  }
  return { points: [...points, [end, passed]], end };
}

/** mostBlocks is the highest number of blocks drawn. */
const mostBlocks = 12;

/** blocks returns the length of each block of a penalty, in seconds. The blocks double up to the
 * longest, which is drawn twice. */
function blocks(l: Limit): Shape {
  const first = l.fields.block ? seconds(String(l.fields.block)) : l.rates[0].seconds;
  const longest = l.fields.max_block ? seconds(String(l.fields.max_block)) : 32 * first;
  const points: Point[] = [[0, first]];
  let length = first;
  let n = 1;
  for (; n < mostBlocks && length < longest; n++) {
    points.push([n, length]);
    length = Math.min(2 * length, longest);
    points.push([n, length]);
  }
  return { points: [...points, [n + 1, length]], end: n + 1 };
}

function spanText(s: number): string {
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]] as const) {
    if (s >= length) return Number((s / length).toPrecision(3)) + " " + unit;
  }
  return Number((s * 1000).toPrecision(3)) + " ms";
}

/** shapes returns the curves of limits over the same time. */
function shapes(all: Limit[]): Shape[] {
  const end = Math.max(...all.map((l) => curve(l)?.end ?? 0));
  return all.map((l) => curve(l, end)).filter((s) => s !== null);
}

/** bounds returns the curves of an adaptive rate at its slowest and at its fastest. */
function bounds(limit: Limit, end: number): Shape[] {
  if (!of(limit).adapts) return [];
  const at = (count: unknown) => curve({ ...limit, fields: { burst: limit.fields.burst ?? limit.rates[0].count }, rates: [{ ...limit.rates[0], count: Number(count) }] }, end);
  return [at(limit.fields.min), at(limit.fields.max)].filter((s) => s !== null);
}

/** texts are the words of a drawing. */
function texts(penalty: boolean) {
  if (!penalty) return { units: t("axisUnits"), time: t("axisTime"), caption: t("drawingCaption"), label: "drawingLabel" as const, y: (n: number) => String(Math.round(n)), x: spanText };
  return { units: t("axisBlock"), time: t("axisBlocks"), caption: t("blocksCaption"), label: "blocksLabel" as const, y: spanText, x: (n: number) => (Number.isInteger(n) ? String(n) : "") };
}

/** Drawing draws a limit given as text, with a candidate for comparison. */
export function Drawing({ limit, candidate }: { limit: string; candidate?: string }) {
  const parsed = parse(limit);
  const other = candidate ? parse(candidate) : null;
  if (!parsed) return null;
  const [shape, tried] = shapes(other ? [parsed, other] : [parsed]);
  if (!shape) return null;
  const edges = bounds(parsed, shape.end);
  const penalty = Boolean(of(parsed).punishes);
  const say = texts(penalty);
  const most = Math.max(...[shape, tried ?? shape, ...edges].flatMap((s) => s.points.map(([, y]) => y))) * 1.08;
  const x = (at: number) => LEFT + (at / shape.end) * (W - LEFT - 8);
  const y = (units: number) => H - BOTTOM - (units / most) * (H - BOTTOM - TOP);
  const draw = (s: Shape) => s.points.map(([a, b], i) => (i === 0 ? "M" : "L") + x(a).toFixed(1) + " " + y(b).toFixed(1)).join("");
  const path = draw(shape);
  const at0 = Math.max(...shape.points.filter(([a]) => a === 0).map(([, b]) => b));
  const last = shape.points.at(-1)![1];
  const label = t(say.label, { limit, now: say.y(at0), end: say.y(last), time: say.x(shape.end) });
  return (
    <figure class="drawing">
      <svg viewBox={`0 0 ${W} ${H}`} role="img" aria-label={label}>
        <path class="area" d={path + `L${x(shape.end)} ${H - BOTTOM}L${LEFT} ${H - BOTTOM}Z`} />
        <path class="axis" d={`M${LEFT} ${TOP}V${H - BOTTOM}H${W - 8}`} />
        <path class="axis dash" d={`M${x(shape.end / 2)} ${TOP}V${H - BOTTOM}`} />
        <path class="line" d={path} />
        {edges.map((edge, i) => (
          <path key={i} class="bound" d={draw(edge)} />
        ))}
        {tried && <path class="candidate" d={draw(tried)} />}
        <text x={LEFT - 5} y={y(at0) + 4} text-anchor="end">
          {say.y(at0)}
        </text>
        {penalty && last > 2 * at0 && (
          <text x={LEFT - 5} y={y(last) + 4} text-anchor="end">
            {say.y(last)}
          </text>
        )}
        {H - BOTTOM - y(at0) > 14 && (
          <text x={LEFT - 5} y={H - BOTTOM} text-anchor="end">
            0
          </text>
        )}
        <text x={4} y={11}>
          {say.units}
        </text>
        <text x={LEFT} y={H - 22} text-anchor="middle">
          0
        </text>
        <text x={x(shape.end / 2)} y={H - 22} text-anchor="middle">
          {say.x(shape.end / 2)}
        </text>
        <text x={W - 8} y={H - 22} text-anchor="end">
          {say.x(shape.end)}
        </text>
        <text x={x(shape.end / 2)} y={H - 6} text-anchor="middle">
          {say.time}
        </text>
      </svg>
      <figcaption>
        {say.caption}
        {edges.length > 0 && " · " + t("drawingBounds")}
        {tried && " · " + t("drawingCandidate")}
      </figcaption>
    </figure>
  );
}
