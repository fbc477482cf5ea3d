/* Draws the overview's charts with uPlot, out of the JSON beside each. Colours are the stylesheet's tokens, read anew
   when the theme changes. Without this script the tables have the same figures. */
(() => {
  "use strict";
  const language = document.documentElement.lang || undefined;
  const short = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
  const exact = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
  const charts = new Map();
  const HEIGHT = 192;
  const DAY_STEPS = [1, 2, 5, 7, 10, 14, 15, 30];

  /* What a token comes to in the theme of now: the browser resolves light-dark() for us. */
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const read = (token, share = 100) => {
    probe.style.color = `color-mix(in srgb, var(${token}) ${share}%, var(--surface))`;
    return getComputedStyle(probe).color;
  };

  const withUnit = (data, text) => (data.unit ? `${text} ${data.unit}` : text);
  const buildAxes = (data) => {
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const ink = read("--ink-3");
    const line = read("--line");
    return [
      {
        font, stroke: ink, grid: { show: false }, ticks: { stroke: line, size: 4, width: 1 }, incrs: DAY_STEPS, space: 60, size: 30,
        values: (_, splits) => splits.map((at) => data.labels[at] ?? ""),
      },
      {
        font, stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false }, size: 56,
        values: (_, splits) => splits.map((value) => withUnit(data, short.format(value))),
      },
    ];
  };

  /* Each kind gives what uPlot draws: the series in the order of drawing, and their values. */
  const stack = (data) => {
    const totals = data.labels.map(() => 0);
    const layers = data.series.map((series) => ({
      stroke: read("--surface"), width: 1, fill: read(series.token, 82), points: { show: false },
      values: series.values.map((value, at) => (totals[at] += value)),
    }));
    return layers.reverse();
  };
  const columns = (data) => {
    const last = data.labels.length - 1;
    const bars = uPlot.paths.bars({ size: [0.72, 40], radius: 0.1 });
    const part = (token, isShown) => ({
      fill: read(token), width: 0, paths: bars, points: { show: false },
      values: data.series[0].values.map((value, at) => (isShown(at) ? value : null)),
    });
    return [part("--accent", (at) => at !== last), part("--accent-line", (at) => at === last)];
  };
  const lines = (data) => data.series.map((series) => ({
    stroke: read(series.token), width: 1.75, dash: series.dash, spanGaps: true, points: { show: false }, values: series.values,
  }));
  const KINDS = { stack, columns, lines };

  const tell = (data, place, at) => {
    if (at === null || at === undefined) { place.textContent = "\u00a0"; return; }
    const told = data.series.map((series) => {
      const value = series.values[at];
      return `${series.label} ${value === null ? "–" : withUnit(data, exact.format(value))}`;
    });
    place.textContent = `${data.labels[at]}: ${told.join(" · ")}`;
  };

  const draw = (box) => {
    const data = JSON.parse(document.getElementById(box.dataset.chart).textContent);
    const place = box.parentElement.querySelector("[data-told]");
    const series = KINDS[data.kind](data);
    const half = data.kind === "columns" ? 0.6 : 0;
    const options = {
      width: box.clientWidth,
      height: HEIGHT,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, range: [-half, data.labels.length - 1 + half] },
        y: { range: (_, low, high) => [0, Math.max(high || 0, 1) * 1.08] },
      },
      axes: buildAxes(data),
      series: [{}, ...series.map(({ values, ...style }) => style)],
      hooks: { setCursor: [(chart) => tell(data, place, chart.cursor.idx)] },
    };
    const values = [data.labels.map((_, at) => at), ...series.map((one) => one.values)];
    charts.get(box)?.destroy();
    charts.set(box, new uPlot(options, values, box));
  };

  const boxes = [...document.querySelectorAll("[data-chart]")];
  boxes.forEach((box) => { box.hidden = false; });
  boxes.forEach(draw);

  const drawAll = () => boxes.forEach(draw);
  new MutationObserver(drawAll).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  const resizing = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const chart = charts.get(target);
      if (chart && target.clientWidth > 0 && target.clientWidth !== chart.width) {
        chart.setSize({ width: target.clientWidth, height: HEIGHT });
      }
    }
  });
  boxes.forEach((box) => resizing.observe(box));
})();
