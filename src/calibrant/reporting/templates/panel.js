"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("panel-data").textContent);
  const cost = byId("panel-cost");
  const threshold = byId("panel-threshold");
  const ends = (id) => byId("panel-keep-" + id).querySelector("path");

  // Where the picture has its axes: of the box that all lines are clipped to.
  const box = byId("panel-keep-box").querySelector("path").getBBox();
  const first = data.thresholds[0];
  const last = data.thresholds[data.thresholds.length - 1];
  const x = (t) => box.x + box.width * (t - first) / (last - first);
  const y = (share) => box.y + box.height * (1 - share);

  const minus = (text) => text.replace("-", "\u2212");
  const show = (id, text) => { byId(id).textContent = text; };
  const say = (input, id, text) => {
    show(id, text);
    input.setAttribute("aria-valuetext", text);
  };

  const draw = (id, values, top) => {
    const points = values.map((v, t) => x(data.thresholds[t]).toFixed(2) + " " + y(v / top).toFixed(2));
    ends(id).setAttribute("d", "M " + points.join(" L "));
  };

  const update = () => {
    const c = Number(cost.value);
    const t = Number(threshold.value);
    const top = data.tops[c];
    say(cost, "panel-cost-words", data.costs[c]);
    say(threshold, "panel-threshold-words", minus(data.labels[t]));
    data.series.forEach((one, s) => {
      const predicted = one.predicted[c][t];
      const realised = one.realised[c][t];
      const difference = realised - predicted;
      show("cell-acting-" + s, (100 * one.acting[c][t]).toFixed(1) + "\u00a0%");
      show("cell-predicted-" + s, predicted.toFixed(4));
      show("cell-realised-" + s, realised.toFixed(4));
      show("cell-difference-" + s, minus((difference < 0 ? "" : "+") + difference.toFixed(4)));
      draw("predicted-" + s, one.predicted[c], top);
      draw("realised-" + s, one.realised[c], top);
    });
    for (let k = 0; k <= 4; k += 1) {
      byId("panel-keep-tick-" + k).querySelector("text").textContent = String(Number((top * k / 4).toPrecision(6)));
    }
    const at = x(data.thresholds[t]);
    ends("cursor").setAttribute("d", "M " + at + " " + y(0) + " L " + at + " " + y(1));
  };

  const best = () => { threshold.value = data.best[Number(cost.value)]; update(); };
  cost.addEventListener("input", data.chosen ? best : update);
  threshold.addEventListener("input", update);
  if (data.chosen) {
    byId("panel-best").addEventListener("click", best);
  }
  byId("panel").hidden = false;
  update();
})();
