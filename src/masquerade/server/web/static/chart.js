// Draws each question's estimate with its interval. The table below each chart says the same.

/* global Plot */

const data = document.getElementById("result");
const result = data ? JSON.parse(data.textContent) : { questions: [] };
const boxes = new Map(
  [...document.querySelectorAll(".chart")].map((box) => [box.dataset.question, box]),
);

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "currentColor";
}

function draw() {
  for (const question of result.questions) {
    const box = boxes.get(question.id);
    if (!box) continue;
    const known = question.options.some((option) => option.known_share !== null);
    const rows = question.options.map((option) => ({
      label: option.label,
      share: 100 * Math.min(1, Math.max(0, option.share)),
      low: 100 * option.low,
      high: 100 * option.high,
      reported: 100 * option.reported_share,
      known: 100 * (option.known_share ?? 0),
    }));
    const width = Math.max(280, Math.min(760, box.clientWidth));
    const accent = colour("--accent");
    const longest = Math.max(...rows.map((row) => row.label.length));
    const legend = document.createElement("p");
    legend.className = "legend hint";
    legend.textContent = known
      ? "● estimate with interval    ◆ known share    | reported"
      : "● estimate with interval    | reported";
    box.replaceChildren(
      Plot.plot({
        width,
        height: 34 * rows.length + 64,
        marginBottom: 44,
        marginLeft: Math.min(width * 0.42, 24 + 7.6 * longest),
        marginRight: 24,
        x: { domain: [0, 100], ticks: 5, label: "share of people, %", labelAnchor: "center", grid: true },
        y: { domain: rows.map((row) => row.label), label: null },
        style: { background: "transparent", color: "inherit", fontSize: "13px" },
        marks: [
          Plot.ruleX([0]),
          Plot.ruleY(rows, { y: "label", x1: "low", x2: "high", stroke: accent, strokeWidth: 3 }),
          Plot.tickX(rows, { y: "label", x: "reported", strokeOpacity: 0.45, inset: 6 }),
          Plot.dot(rows, { y: "label", x: "share", r: 6, fill: accent }),
          known
            ? Plot.dot(rows, {
                y: "label", x: "known", r: 5, symbol: "diamond", stroke: "currentColor",
                fill: "none", strokeWidth: 2,
              })
            : null,
        ],
      }),
      legend,
    );
  }
}

let width = 0;
new ResizeObserver(() => {
  if (document.documentElement.clientWidth === width) return;
  width = document.documentElement.clientWidth;
  draw();
}).observe(document.documentElement);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
