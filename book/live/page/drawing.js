// Small drawings of what `tfmlib.plots` is asked for in the page: draw(spec) returns an <svg>.
//
// A spec is plain data, made by book/live/inside/plots.py; numbers that JSON lacks are strings such as "-inf".
// Words become text nodes and nothing else. Colours are those of drawing.css; only the colours of cells, the same
// on light and on dark pages, are computed here.
//
// A drawing is 360 units wide, so that on a telephone a unit is nearly a pixel, and its letters are 12 units high.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 360;
const LETTER = 12;
const LINE = 15;
const TITLE = 1.2; // bold, and 13 units high
const SMALL = 11 / LETTER; // in cells that are too narrow for letters of full size
const PLOT = 190; // the height of a chart without its words
const MOST_MARKERS = 20; // a line of more points has none
const MOST_CELLS = 4096; // a map of more cells is an image of one pixel for each
const MARKERS = 5; // the shapes below, and as many colours and dashes in drawing.css
const SHAPES = [
  "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0z",
  "M-3 -3h6v6h-6z",
  "M0 -4L3.8 3H-3.8z",
  "M0 -4.2L4.2 0L0 4.2L-4.2 0z",
  "M0 4L3.8 -3H-3.8z",
];
const SIGNS = { "-inf": "−∞", inf: "∞", nan: "NaN" };
// viridis at 35 places and RdBu_r at its 11, from the lowest value to the highest.
const MAGNITUDE = `440154 470c5f 481769 482172 472a7a 463480 433d84 404588 3d4e8a 39568c 355e8d 32658e 2e6d8e 2b748e 297b8e 26828e 23898e 21908c
  1f978b 1f9e89 21a585 26ac81 2eb37c 39b976 46c06f 55c667 65cb5e 76d053 89d548 9cd93c b0dd2f c4e022 d8e219 ebe51a fde725`;
const SIGNED = "053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f";

// What `spec` describes, as an <svg>; null where the picture of the book is to stay.
export function draw(spec) {
  const kind = KINDS[spec.kind];
  if (!kind) return null;
  const page = new Sheet();
  if (spec.title) page.words(wrap(spec.title, WIDTH, TITLE), "tfm-drawn-title");
  if (spec.title) page.y += 4;
  kind(page, spec);
  const label = spec.alt || spec.title || "A drawing";
  const box = `0 0 ${WIDTH} ${round(page.y)}`;
  return make("svg", { class: "tfm-drawing", viewBox: box, role: "img", "aria-label": label }, ...page.parts);
}

// --- elements -----------------------------------------------------------------------------------

const round = (value) => Math.round(value * 100) / 100;

function make(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, typeof value === "number" ? round(value) : value);
  }
  element.append(...children);
  return element;
}

// Words at a place; `anchor` is start, middle or end, and `turn` an angle in degrees.
function write(x, y, words, { anchor = "start", turn = 0, ...attributes } = {}) {
  const transform = turn ? `rotate(${turn} ${round(x)} ${round(y)})` : undefined;
  return make("text", { x, y, "text-anchor": anchor, transform, ...attributes }, String(words));
}

const line = (x1, y1, x2, y2, name) => make("line", { x1, y1, x2, y2, class: name });

// What has been drawn so far, and how far down: each kind writes from the top to the bottom.
class Sheet {
  parts = [];
  y = 2;

  add(...parts) {
    this.parts.push(...parts);
  }

  words(lines, name, x = 0, anchor = "start") {
    for (const words of lines) {
      this.y += LINE;
      this.add(write(x, this.y - 3, words, { anchor, class: name }));
    }
  }
}

// --- words --------------------------------------------------------------------------------------

// About how wide words are. It is rather too much than too little: nobody knows the reader's font.
function measure(words, size = 1) {
  const wide = (letter) =>
    /[iljI.,:;'|!()[\]\u2009 ]/.test(letter) ? 0.36
      : /[mwMW@%…—]/.test(letter) ? 0.96
        : /[A-Z<>=+−×√✓␣□&]/.test(letter) ? 0.76
          : letter.codePointAt(0) > 0x1100 && !/[\u2000-\u22ff]/.test(letter) ? 1.1
            : 0.61;
  return Array.from(String(words), wide).reduce((sum, one) => sum + one, 0) * LETTER * size;
}

const widest = (labels) => Math.max(0, ...labels.map((label) => measure(label)));

// Words in lines no wider than `room`, where their spaces allow it.
function wrap(words, room, size = 1) {
  const lines = [];
  for (const word of String(words).split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && measure(longer, size) <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.map((text) => shorten(text, room, size));
}

function shorten(words, room, size = 1) {
  const letters = Array.from(words);
  if (measure(words, size) <= room) return words;
  while (letters.length && measure(`${letters.join("")}…`, size) > room) letters.pop();
  return `${letters.join("")}…`;
}

// A number with `decimals`, a true minus and commas; of very small and very large ones the power of ten.
function number(value, decimals) {
  if (value !== 0 && (decimals > 8 || Math.abs(value) >= 1e10)) return minus(String(Number(value.toPrecision(3))));
  const [whole, rest] = value.toFixed(Math.min(decimals, 8)).split(".");
  const text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ? `.${rest}` : "");
  return minus(Number(value.toFixed(Math.min(decimals, 8))) === 0 ? text.replace("-", "") : text);
}

const minus = (text) => text.replaceAll("-", "−");

// A number by itself, with three digits at most.
const plain = (value) => {
  const short = Number(value.toPrecision(3));
  return number(short, (String(short).split(".")[1] || "").length);
};

// --- axes ---------------------------------------------------------------------------------------

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// The range of some numbers; where there is none, from 0 to 1; where there is but one, around it.
function rangeOf(values, isLog = false) {
  const drawn = values.filter((value) => isNumber(value) && (!isLog || value > 0));
  if (!drawn.length) return isLog ? [1, 10] : [0, 1];
  const low = drawn.reduce((a, b) => Math.min(a, b));
  const high = drawn.reduce((a, b) => Math.max(a, b));
  if (low < high) return [low, high];
  return isLog ? [low / 2, low * 2] : [low - (Math.abs(low) / 2 || 0.5), low + (Math.abs(low) / 2 || 0.5)];
}

// A function from values to units, which knows its ends: the range with a margin of itself on both sides.
function axis(range, from, to, { isLog = false, margin = 0 } = {}) {
  const bend = isLog ? Math.log10 : (value) => value;
  const more = (bend(range[1]) - bend(range[0])) * margin;
  const [start, end] = [bend(range[0]) - more, bend(range[1]) + more];
  const [low, high] = isLog ? [10 ** start, 10 ** end] : [start, end];
  const place = (value) => from + ((bend(value) - start) / (end - start)) * (to - from);
  return Object.assign(place, { low, high, isLog, from, to });
}

// Round numbers from low to high, in steps of 1, 2, 2.5 or 5 times a power of ten, `most` steps at most.
function roundNumbers(low, high, most) {
  const ten = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * ten).find((one) => (high - low) / one <= most + 1e-9);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (Math.abs(step / ten - 2.5) < 0.1 ? 1 : 0));
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n <= high / step + 1e-9; n += 1) ticks.push(n * step);
  return ticks.map((value) => [value, number(value, decimals)]);
}

// Powers of ten, every nth where they are many; within few of them also 2 and 5 times each.
function powers(low, high, most) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const parts = high / low < 500 ? [1, 2, 5] : [1];
  const stride = Math.max(1, Math.ceil((Math.log10(high / low) * parts.length) / most / parts.length));
  const ticks = [];
  for (let n = Math.ceil(first / stride) * stride; n <= last; n += stride) {
    for (const part of parts) ticks.push([part * 10 ** n, n]);
  }
  const within = ticks.filter(([value]) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
  if (within.length < 2) return roundNumbers(low, high, most);
  return within.map(([value, n]) => [value, number(value, Math.max(0, -n))]);
}

const ticksOf = (place, most) => (place.isLog ? powers : roundNumbers)(place.low, place.high, most);

// As many ticks along the bottom as have room; `chosen` are values that deserve one.
function ticksAlong(place, chosen = []) {
  const apart = (ticks) => ticks.every(([value, words], i) => i === 0
    || place(value) - place(ticks[i - 1][0]) > (measure(words) + measure(ticks[i - 1][1])) / 2 + 6);
  if (chosen.length) {
    const ticks = [];
    for (const value of chosen) if (apart([...ticks, [value, plainFull(value)]])) ticks.push([value, plainFull(value)]);
    return ticks;
  }
  for (let most = 6; most > 1; most -= 1) {
    const ticks = ticksOf(place, most);
    if (apart(ticks)) return ticks;
  }
  return ticksOf(place, 2).slice(0, 1);
}

const plainFull = (value) => number(value, (String(value).split(".")[1] || "").length);

// The frame of a chart: where its values stand left of it, and lines across.
function leftAxis(page, place, ticks, left) {
  for (const [value, words] of ticks) {
    page.add(line(left, place(value), WIDTH - 6, place(value), "tfm-drawn-grid"));
    page.add(write(left - 6, place(value) + 4, words, { anchor: "end" }));
  }
}

function bottomAxis(page, place, ticks, top, bottom, label) {
  for (const [value, words] of ticks) {
    page.add(line(place(value), top, place(value), bottom, "tfm-drawn-grid"));
    page.add(write(place(value), bottom + LINE, words, { anchor: "middle" }));
  }
  page.y = bottom + LINE + 5;
  underneath(page, label, (place.from + place.to) / 2);
}

// Words under a chart, in the middle of it if they fit there.
function underneath(page, words, middle) {
  const lines = wrap(words, WIDTH);
  const half = widest(lines) / 2;
  page.words(lines, "tfm-drawn-label", Math.min(Math.max(middle, half), WIDTH - half), "middle");
  page.y += 3;
}

// The names of the series, each after a sample of it, in as many rows as they need.
function legend(page, names, sample) {
  if (names.length < 2) return;
  let x = 0;
  page.y += LINE + 1;
  names.forEach((name, i) => {
    const words = shorten(name, WIDTH - 34);
    if (x > 0 && x + 28 + measure(words) > WIDTH) {
      x = 0;
      page.y += LINE + 1;
    }
    page.add(sample(i, x, page.y - 7), write(x + 28, page.y - 3, words));
    x += 28 + measure(words) + 12;
  });
  page.y += 3;
}

// --- lines --------------------------------------------------------------------------------------

// The colour of a series, its dash and its marker; no pair of them occurs twice.
const look = (i) => ({ colour: i % MARKERS, shape: (i + Math.floor(i / MARKERS)) % MARKERS });

const marker = (i, x, y) => make("path", {
  d: SHAPES[look(i).shape], transform: `translate(${round(x)} ${round(y)})`, class: `tfm-drawn-mark tfm-fill-${look(i).colour}`,
});

const stroke = (i) => `tfm-drawn-line tfm-stroke-${look(i).colour} tfm-dash-${look(i).shape}`;

function drawLines(page, spec) {
  const { series, log_x: logX, log_y: logY } = spec;
  legend(page, series.map(({ name }) => name), (i, x, y) => make("g", {},
    make("path", { d: `M${x} ${y}h24`, class: stroke(i) }), ...(isMarked(series[i]) ? [marker(i, x + 12, y)] : [])));
  page.words(wrap(spec.ylabel, WIDTH), "tfm-drawn-label");
  const [top, bottom] = [page.y + 8, page.y + 8 + PLOT];
  const y = axis(rangeOf(series.flatMap((one) => one.y), logY), bottom, top, { isLog: logY, margin: 0.05 });
  const up = ticksOf(y, 6);
  const left = widest(up.map(([, words]) => words)) + 8;
  const places = series.flatMap((one) => one.x);
  const x = axis(rangeOf(places, logX), left, WIDTH - 6, { isLog: logX, margin: 0.05 });
  const few = [...new Set(places.filter((value) => isNumber(value) && value > 0))].sort((a, b) => a - b);
  leftAxis(page, y, up, left);
  bottomAxis(page, x, ticksAlong(x, logX && few.length <= 8 ? few : []), top, bottom, spec.xlabel);
  page.add(line(left, top, left, bottom, "tfm-drawn-axis"), line(left, bottom, WIDTH - 6, bottom, "tfm-drawn-axis"));
  series.forEach((one, i) => page.add(drawLine(one, i, x, y)));
}

const isMarked = (one) => one.x.length <= MOST_MARKERS;

// A line through its points; one that cannot be drawn leaves a gap.
function drawLine(one, i, x, y) {
  const canDraw = (value, place) => isNumber(value) && (!place.isLog || value > 0);
  const points = one.x.map((value, n) => (canDraw(value, x) && canDraw(one.y[n], y) ? [x(value), y(one.y[n])] : null));
  const d = points.map((point, n) => (point ? `${n && points[n - 1] ? "L" : "M"}${point.map(round).join(" ")}` : "")).join("");
  const alone = (n) => !points[n - 1] && !points[n + 1]; // no line leads to it
  const marks = points.flatMap((point, n) => (point && (isMarked(one) || alone(n)) ? [marker(i, ...point)] : []));
  return make("g", { class: "tfm-drawn-series" }, make("path", { d, class: stroke(i) }), ...marks);
}

// --- bars ---------------------------------------------------------------------------------------

const GAP = 0.2; // of the room of a label, between its bars and the next ones

const swatch = (name, x, y) => make("rect", { x: x + 6, y: y - 5, width: 16, height: 10, class: name });

const textOf = (group, i) => (isNumber(group.values[i]) ? group.texts[i] ?? "" : SIGNS[group.values[i]] ?? "NaN");

// The range of bars: they grow from zero.
function fromZero(groups) {
  const values = groups.flatMap(({ values }) => values).filter(isNumber);
  const [low, high] = [values.reduce((a, b) => Math.min(a, b), 0), values.reduce((a, b) => Math.max(a, b), 0)];
  return low < high ? [low, high] : [0, 1];
}

// Upright where labels and values have room side by side, else lying.
function drawBars(page, { labels, groups, ylabel }) {
  const colours = groups.map((_, g) => groups.map((group) => group.values.map(() => `tfm-drawn-bar tfm-fill-${g}`))[g]);
  legend(page, groups.map(({ name }) => name), (g, x, y) => swatch(`tfm-drawn-bar tfm-fill-${g}`, x, y));
  const room = (WIDTH - 50) / Math.max(1, labels.length);
  const fits = widest(labels) <= room - 4
    && groups.every((group) => group.values.every((_, i) => measure(textOf(group, i)) <= (room * (1 - GAP)) / groups.length + 3));
  if (fits) uprightBars(page, labels, groups, colours, ylabel);
  else lyingBars(page, labels, groups, colours, ylabel);
}

function uprightBars(page, labels, groups, colours, ylabel) {
  page.words(wrap(ylabel, WIDTH), "tfm-drawn-label");
  const [low, high] = fromZero(groups);
  const [top, bottom] = [page.y + 6, page.y + 6 + PLOT];
  const y = axis([low, high], bottom - (low < 0 ? LINE + 2 : 0), top + LINE + 2);
  const ticks = ticksOf(y, 6);
  const left = widest(ticks.map(([, words]) => words)) + 8;
  const room = (WIDTH - 6 - left) / Math.max(1, labels.length);
  const width = Math.min((room * (1 - GAP)) / groups.length, 60);
  leftAxis(page, y, ticks, left);
  groups.forEach((group, g) => group.values.forEach((value, i) => {
    const x = left + room * (i + 0.5) + width * (g - groups.length / 2);
    const end = isNumber(value) ? y(value) : y(0);
    const box = { x: x + width * 0.04, y: Math.min(end, y(0)), width: width * 0.92, height: Math.abs(end - y(0)) };
    if (isNumber(value)) page.add(make("rect", { ...box, class: colours[g][i] }));
    page.add(write(x + width / 2, value < 0 ? end + LINE - 2 : end - 4, textOf(group, i), { anchor: "middle" }));
  }));
  page.add(line(left, y(0), WIDTH - 6, y(0), "tfm-drawn-axis"));
  labels.forEach((label, i) => page.add(write(left + room * (i + 0.5), bottom + LINE, label, { anchor: "middle" })));
  page.y = bottom + LINE + 8;
}

function lyingBars(page, labels, groups, colours, xlabel) {
  const named = labels.map((label) => wrap(label, 120));
  const left = widest(named.flat()) + 8;
  const [low, high] = fromZero(groups);
  const texts = groups.flatMap((group) => group.values.map((value, i) => [value, textOf(group, i)]));
  const roomFor = (wanted) => widest(texts.filter(([value]) => (value < 0) === wanted).map(([, words]) => words)) + 7;
  const x = axis([low, high], left + (low < 0 ? roomFor(true) : 0), WIDTH - roomFor(false));
  const thick = groups.length > 1 ? 15 : 16;
  const heights = named.map((lines) => Math.max(thick * groups.length, LINE * lines.length) + 6);
  const [top, bottom] = [page.y + 4, page.y + 4 + heights.reduce((a, b) => a + b, 0)];
  const marks = [];
  let row = top;
  labels.forEach((_, i) => {
    const middle = row + heights[i] / 2;
    named[i].forEach((words, n) => marks.push(
      write(left - 8, middle + 4 + LINE * (n - (named[i].length - 1) / 2), words, { anchor: "end" })));
    groups.forEach((group, g) => marks.push(
      ...lyingBar(group.values[i], textOf(group, i), x, middle + thick * (g - groups.length / 2), thick, colours[g][i])));
    row += heights[i];
  });
  bottomAxis(page, x, ticksAlong(x), top, bottom, xlabel);
  page.add(...marks, line(x(0), top, x(0), bottom, "tfm-drawn-axis"));
}

function lyingBar(value, words, x, y, thick, name) {
  const end = isNumber(value) ? x(value) : x(0);
  const box = { x: Math.min(end, x(0)), y: y + 1, width: Math.abs(end - x(0)), height: thick - 2, class: name };
  const side = value < 0 ? { anchor: "end" } : {};
  const text = write(value < 0 ? end - 4 : end + 4, y + thick / 2 + 4, words, side);
  return isNumber(value) ? [make("rect", box), text] : [text];
}

// Probabilities: bars that lie, the largest one emphasised.
function drawDistribution(page, { labels, values, texts, xlabel }) {
  const largest = values.indexOf(values.reduce((a, b) => Math.max(a, b), 0));
  const colours = [values.map((_, i) => `tfm-drawn-bar ${i === largest ? "tfm-drawn-main" : "tfm-drawn-other"}`)];
  lyingBars(page, labels, [{ values, texts }], colours, xlabel);
}

// --- maps ---------------------------------------------------------------------------------------

const stops = (colours) => colours.split(/\s+/).map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
const SCALES = { magnitude: stops(MAGNITUDE), signed: stops(SIGNED) };

// The colour of a value as three numbers up to 255, on a scale [low, high].
export function colourOf(value, [low, high]) {
  const scale = low < 0 ? SCALES.signed : SCALES.magnitude;
  const place = Math.min(Math.max((value - low) / (high - low), 0), 1) * (scale.length - 1);
  const [i, share] = [Math.min(Math.floor(place), scale.length - 2), place - Math.min(Math.floor(place), scale.length - 2)];
  return scale[i].map((part, c) => Math.round(part + (scale[i + 1][c] - part) * share));
}

// Whether black is easier to read on a colour than white, by the luminance of WCAG 2.
function wantsBlack(rgb) {
  const linear = rgb.map((part) => part / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return (linear[0] * 0.2126 + linear[1] * 0.7152 + linear[2] * 0.0722 + 0.05) ** 2 > 0.05 * 1.05;
}

const ALLOWED = [10, 104, 164]; // as in drawing.css
const BLOCKED = [195, 201, 210];

// Which labels are written: all that have room, or else every second, fifth, tenth, ... with air between them.
function stepFor(size) {
  if (size >= LETTER + 1.5) return 1;
  const enough = (2 * LETTER) / size;
  for (let ten = 1; ; ten *= 10) for (const part of [1, 2, 5]) if (part * ten >= enough) return part * ten;
}

// Where the cells of a map are: room for the labels of rows left of it, and of columns above.
class Fit {
  constructor({ rows, columns, panels, ylabel }) {
    Object.assign(this, { rows, columns });
    this.left = Math.min(widest(rows), 110) + (ylabel ? LINE + 2 : 0) + 6;
    this.across = this.panelsAcross(panels.length);
    this.gap = panels.length > 1 ? 10 : 0;
    const longest = widest(columns);
    let overhang = 0; // how far the last slanted label sticks out
    for (let i = 0; i < 3; i += 1) {
      const room = (WIDTH - this.left - overhang) / this.across - this.gap;
      this.width = Math.min(room / Math.max(1, columns.length), panels.length > 1 ? 30 : 48);
      this.step = stepFor(this.width);
      const pitch = this.width * this.step;
      this.slant = longest <= pitch - 4 ? 0 : pitch >= 18 ? 45 : 90;
      overhang = this.slant === 45 ? Math.max(0, longest * 0.71 - this.width / 2) : 0;
    }
    const count = Math.max(1, rows.length);
    this.height = Math.min(Math.max(this.width, 64 / count), (count > 30 ? 300 : 440) / count, 38);
    this.rowStep = stepFor(this.height);
    this.above = this.slant === 0 ? LINE : longest * (this.slant === 45 ? 0.71 : 1) + (this.slant === 45 ? 10 : 6);
    this.panelWidth = this.width * columns.length;
    this.panelHeight = this.height * rows.length;
    const used = (this.panelWidth + this.gap) * this.across - this.gap;
    this.start = this.left + Math.max(0, (WIDTH - this.left - overhang - used) / 2);
  }

  // As many side by side as the book has, or fewer where each column could not have its label.
  panelsAcross(count) {
    const wanted = { 1: 1, 2: 2, 4: 2, 7: 4, 8: 4 }[count] || (count <= 9 ? Math.min(count, 3) : 4);
    for (let across = wanted; across > 0; across -= 1) {
      if ((WIDTH - this.left) / across - 10 >= this.columns.length * (LETTER + 1.5)) return across;
    }
    return wanted;
  }

  // The size at which these texts fit into cells, or 0.
  sizeFor(texts) {
    const [wide, room] = [widest(texts.flat()), this.height >= LETTER + 2 ? this.width - 1.5 : 0];
    return wide <= room ? 1 : wide * SMALL <= room ? SMALL : 0;
  }
}

function nameRows(page, fit, top) {
  for (let i = 0; i < fit.rows.length; i += fit.rowStep) {
    const words = shorten(fit.rows[i], 110);
    page.add(write(fit.start - 6, top + fit.height * (i + 0.5) + 4, words, { anchor: "end" }));
  }
}

function nameColumns(page, fit, left, bottom) {
  for (let i = 0; i < fit.columns.length; i += fit.step) {
    const middle = left + fit.width * (i + 0.5);
    if (fit.slant) page.add(write(middle + (fit.slant === 90 ? 4 : 3), bottom - 5, fit.columns[i], { turn: -fit.slant }));
    else page.add(write(middle, bottom - 5, fit.columns[i], { anchor: "middle" }));
  }
}

// The cells of one panel, row by row; `paint` gives each its colour.
function drawCells(page, fit, { cells, texts }, left, top, paint) {
  const few = Math.max(fit.rows.length, fit.columns.length) <= 16;
  const gap = few ? 1.5 : 0;
  const place = (i, j) => ({ x: left + fit.width * j, y: top + fit.height * i });
  if (cells.length * (cells[0] || []).length > MOST_CELLS) {
    page.add(make("image", {
      x: left, y: top, width: fit.panelWidth, height: fit.panelHeight, preserveAspectRatio: "none", href: asImage(cells, paint), class: "tfm-drawn-cells",
    }));
    return;
  }
  page.add(make("g", { class: "tfm-drawn-cells" }, ...cells.flatMap((row, i) => row.map((value, j) => make("rect", {
    ...place(i, j), width: fit.width - gap, height: fit.height - gap, fill: `rgb(${paint(value).join()})`, class: "tfm-drawn-cell",
  })))));
  const signOf = (value) => (isNumber(value) ? "" : SIGNS[value] ?? "NaN");
  const written = texts.length ? texts : cells.map((row) => row.map(signOf));
  const size = fit.sizeFor(written);
  if (!size) return;
  cells.forEach((row, i) => row.forEach((value, j) => {
    const words = written[i][j];
    if (!words) return;
    const { x, y } = place(i, j);
    const name = `tfm-drawn-${wantsBlack(paint(value)) ? "black" : "white"}${size < 1 ? " tfm-drawn-small" : ""}`;
    page.add(write(x + (fit.width - gap) / 2, y + (fit.height - gap) / 2 + 4.2, words, { anchor: "middle", class: name }));
  }));
}

// Very many cells: a pixel for each.
function asImage(cells, paint) {
  const canvas = document.createElement("canvas");
  [canvas.height, canvas.width] = [cells.length, cells[0].length];
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(canvas.width, canvas.height);
  cells.flat().forEach((value, n) => image.data.set([...paint(value), 255], 4 * n));
  pen.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

// All panels with their labels; those of one row of panels share the names of the rows.
function drawPanels(page, spec, fit, paint) {
  const { panels, xlabel, ylabel } = spec;
  const used = (fit.panelWidth + fit.gap) * fit.across - fit.gap;
  if (xlabel) underneath(page, xlabel, fit.start + used / 2);
  page.y += fit.above;
  const first = page.y;
  panels.forEach((panel, n) => {
    const column = n % fit.across;
    const left = fit.start + (fit.panelWidth + fit.gap) * column;
    if (n < fit.across) nameColumns(page, fit, left, page.y);
    if (column === 0) nameRows(page, fit, page.y);
    drawCells(page, fit, panel, left, page.y, paint);
    if (panel.name) page.add(write(left + fit.panelWidth / 2, page.y + fit.panelHeight + LINE, panel.name, { anchor: "middle", class: "tfm-drawn-label" }));
    if (column === fit.across - 1 || n === panels.length - 1) page.y += fit.panelHeight + (panel.name ? LINE + 10 : 2);
  });
  const middle = (first + page.y) / 2;
  const tall = Math.max(page.y - first, 60);
  if (ylabel) {
    const x = fit.start - Math.min(widest(fit.rows), 110) - 12;
    page.add(write(x, middle, shorten(ylabel, tall + fit.above), { anchor: "middle", turn: -90, class: "tfm-drawn-label" }));
  }
  page.y += 4;
}

function drawMap(page, spec) {
  const fit = new Fit(spec);
  const written = spec.panels.every(({ texts }) => texts.length && fit.sizeFor(texts));
  const panels = written ? spec.panels : spec.panels.map((panel) => ({ ...panel, texts: [] }));
  drawPanels(page, { ...spec, panels }, fit, (value) => (isNumber(value) ? colourOf(value, spec.scale) : BLOCKED));
  if (!written) colourBar(page, spec.scale);
}

// What the colours mean, where the cells do not say it.
function colourBar(page, scale) {
  const [low, high] = scale;
  const [parts, width] = [32, 160];
  const left = (WIDTH - width) / 2;
  page.y += 4;
  page.add(make("g", { class: "tfm-drawn-cells tfm-drawn-scale" }, ...Array.from({ length: parts }, (_, n) => make("rect", {
    x: left + (width * n) / parts, y: page.y, width: width / parts, height: 10,
    fill: `rgb(${colourOf(low + ((high - low) * (n + 0.5)) / parts, scale).join()})`,
  }))));
  for (const value of low < 0 ? [low, 0, high] : [low, high]) {
    page.add(write(left + (width * (value - low)) / (high - low), page.y + 24, plain(value), { anchor: "middle" }));
  }
  page.y += 30;
}

function drawMask(page, spec) {
  const fit = new Fit(spec);
  drawPanels(page, spec, fit, (value) => (value === 1 ? ALLOWED : BLOCKED));
  const names = spec.names.map((name, i) => `${"✓×"[i]} ${name}`);
  legend(page, names, (i, x, y) => swatch(i ? "tfm-drawn-blocked" : "tfm-drawn-allowed", x, y));
}

const KINDS = { lines: drawLines, bars: drawBars, distribution: drawDistribution, map: drawMap, mask: drawMask };
