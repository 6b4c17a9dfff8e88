// Charts over the last minutes, drawn by uPlot.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clock } from "./format";
import { language } from "./i18n";
import { SECONDS } from "./live";

export interface Line {
  label: string;
  /** color is the name of a custom property in the style sheet. */
  color: string;
  fill?: boolean;
  dash?: number[];
  values: (number | null)[];
  /** now is the latest value as text. */
  now: string;
}

interface Props {
  title: string;
  /** times are in s since 1970. */
  times: number[];
  lines: Line[];
  format: (value: number) => string;
  /** log draws the values on a logarithmic scale, for values that differ a thousandfold. */
  log?: boolean;
}

const HEIGHT = 172;
/** SHORTEST is the minimum number of seconds in a chart. */
const SHORTEST = 60;
const color = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** decades returns the powers of ten around the values, at least one decade. */
function decades(min: number | null, max: number | null): [number, number] {
  const low = Math.floor(Math.log10(Math.max(min ?? 1, 1)));
  return [10 ** low, 10 ** Math.max(Math.ceil(Math.log10(Math.max(max ?? 1, 1))), low + 1)];
}

/** HALF is half of the width of a character of an axis, in pixels, and a little more. */
const HALF = 3.5;

/** inside leaves out the texts that the edge of the chart would cut. */
function inside(u: uPlot, at: number[], format: (value: number) => string): string[] {
  return at.map((v) => {
    const text = format(v);
    const x = u.valToPos(v, "x") + u.bbox.left / devicePixelRatio;
    return x < text.length * HALF || x > u.width - text.length * HALF ? "" : text;
  });
}

/** powers returns the powers of ten between two numbers. */
function powers(min: number, max: number): number[] {
  const all = [];
  for (let v = min; v <= max * 1.001; v *= 10) all.push(v);
  return all;
}

function options(p: Props, width: number): uPlot.Options {
  const axis = { stroke: color("--dim"), grid: { stroke: color("--rule"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  const zoned = clock();
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    padding: [8, 8, 0, 0],
    scales: { x: { time: true }, y: p.log ? { distr: 3, range: (_, min, max) => decades(min, max) } : { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] } },
    axes: [
      { ...axis, size: 24, space: 120, incrs: [1, 5, 10, 15, 30, 60, 120, 300], values: (u, at) => inside(u, at, (v) => zoned.format(v * 1000)) },
      {
        ...axis,
        size: 52,
        space: 32,
        values: (_, at) => at.map(p.format),
        // uPlot would replace some of the powers by null.
        ...(p.log ? { splits: (_, __, min, max) => powers(min, max), filter: (_, at) => at } : {}),
      },
    ],
    series: [
      {},
      ...p.lines.map((l, i) => ({
        label: l.label,
        stroke: color(l.color),
        width: 1.5,
        dash: l.dash,
        fill: l.fill && i === p.lines.length - 1 ? color(l.color + "-fill") : undefined,
        points: { show: false },
      })),
    ],
    // Each area ends at the line below it.
    bands: p.lines.slice(0, -1).flatMap((l, i) => (l.fill ? [{ series: [i + 1, i + 2] as [number, number], fill: color(l.color + "-fill") }] : [])),
  };
}

/** useScheme counts the switches between light and dark. */
function useScheme(): number {
  const [changes, set] = useState(0);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => set((n) => n + 1);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return changes;
}

export function Chart(p: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const scheme = useScheme();
  const shape = scheme + language() + p.lines.map((l) => l.label + l.color).join("\n");
  const data = () => [p.times, ...p.lines.map((l) => l.values)] as uPlot.AlignedData;
  useEffect(() => {
    const place = host.current!;
    const made = new uPlot(options(p, place.clientWidth), data(), place);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: HEIGHT }));
    resized.observe(place);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [shape]);
  useEffect(() => {
    const last = p.times.at(-1) ?? Date.now() / 1000;
    plot.current?.setData(data(), true);
    const first = Math.min(p.times[0] ?? last, last - SHORTEST);
    plot.current?.setScale("x", { min: Math.max(first, last - SECONDS), max: last });
  }, [p.times, shape]);
  const summary = p.title + ": " + p.lines.map((l) => l.label + " " + l.now).join(", ");
  return (
    <figure class="chart panel">
      <figcaption>
        <h2>{p.title}</h2>
        <ul class="legend">
          {p.lines.map((l) => (
            <li key={l.label}>
              <span class="swatch" data-color={l.color} aria-hidden="true" />
              <bdi>{l.label}</bdi> <b class="num">{l.now}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={host} role="img" aria-label={summary} />
    </figure>
  );
}
