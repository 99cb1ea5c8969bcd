import { fileURLToPath } from 'node:url';
import { threeDigits } from './numbers.ts';
import type { Curve } from './report.ts';

/** The folder of the plots in docs/performance.md. */
export const PLOTS = fileURLToPath(new URL('../../docs/performance/', import.meta.url));

const WIDTH = 640;
const HEIGHT = 360;
const EDGE = { left: 70, right: 150, top: 40, bottom: 50 } as const;
/** A palette for all kinds of colour vision (Okabe and Ito). */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00'];

/** An SVG of the curves on logarithmic axes. */
export function plot(title: string, curves: readonly Curve[]): string {
  const points = curves.flatMap((curve) => curve.points);
  const scale = (values: readonly number[], from: number, to: number): ((value: number) => number) => {
    const [low, high] = [Math.log10(Math.min(...values)), Math.log10(Math.max(...values))];
    return (value) => from + ((Math.log10(value) - low) / (high - low || 1)) * (to - from);
  };
  const ys = points.map(({ y }) => y);
  const [bottom, top] = [10 ** Math.floor(Math.log10(Math.min(...ys))), 10 ** Math.ceil(Math.log10(Math.max(...ys)))];
  const xs = [...new Set(points.map(({ x }) => x))].toSorted((a, b) => a - b);
  const across = scale(xs, EDGE.left, WIDTH - EDGE.right);
  const up = scale([bottom, top], HEIGHT - EDGE.bottom, EDGE.top);
  const lines: string[] = [];
  for (let tick = bottom; tick <= top; tick *= 10) {
    const y = up(tick).toFixed(1);
    lines.push(
      `<line x1="${EDGE.left}" x2="${WIDTH - EDGE.right}" y1="${y}" y2="${y}" stroke="#ddd"/>`,
      text(EDGE.left - 8, up(tick) + 4, `${tick} ${curves[0]?.unit ?? ''}`, 'end'),
    );
  }
  for (const x of xs) lines.push(text(across(x), HEIGHT - EDGE.bottom + 20, x.toLocaleString('en'), 'middle'));
  lines.push(text((EDGE.left + WIDTH - EDGE.right) / 2, HEIGHT - 10, curves[0]?.axis ?? '', 'middle'));
  lines.push(text(EDGE.left, 20, title, 'start'));
  for (const [index, curve] of curves.entries()) {
    const colour = COLOURS[index % COLOURS.length] ?? '#000';
    const path = curve.points.map(({ x, y }) => `${across(x).toFixed(1)},${up(y).toFixed(1)}`).join(' ');
    lines.push(`<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`);
    for (const { x, y } of curve.points) {
      lines.push(`<circle cx="${across(x).toFixed(1)}" cy="${up(y).toFixed(1)}" r="3" fill="${colour}"/>`);
    }
    const last = curve.points.at(-1);
    if (last !== undefined) {
      lines.push(text(across(last.x) + 8, up(last.y) + 4, `${curve.name}: ${threeDigits(last.y)}`, 'start', colour));
    }
  }
  const viewBox = `0 0 ${WIDTH} ${HEIGHT}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${viewBox}" font-family="sans-serif" font-size="12">
<title>${title}</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
${lines.join('\n')}
</svg>
`;
}

function text(x: number, y: number, content: string, anchor: string, colour = '#333'): string {
  const safe = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="${colour}">${safe}</text>`;
}
