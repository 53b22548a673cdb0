"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("panel-data").textContent);
  const rows = data.chart.data.values;
  const cost = byId("panel-cost");
  const threshold = byId("panel-threshold");

  // As wide as the page allows. Expressions are interpreted: the page forbids to compile them.
  const { view } = await vegaEmbed("#panel-chart", { ...data.chart, width: "container" }, {
    ast: true, actions: false, defaultStyle: false, renderer: "svg",
    tooltip: { disableDefaultStyle: true },
  });

  const signed = (value) => {
    const text = Math.abs(value).toFixed(4);
    if (Number(text) === 0) {
      return text;
    }
    return (value < 0 ? "\u2212" : "+") + text;
  };
  const show = (id, text) => { byId(id).textContent = text; };
  const say = (input, id, text) => {
    show(id, text);
    input.setAttribute("aria-valuetext", text);
  };

  const update = () => {
    const c = Number(cost.value);
    const t = Number(threshold.value);
    const at = (measure, s) => rows[c][measure + "_" + s][t];
    say(cost, "panel-cost-words", data.costs[c]);
    say(threshold, "panel-threshold-words", data.labels[t]);
    show("panel-choice", data.costs[c] + ". " + data.lead + data.labels[t] + ".");
    for (let s = 0; s < data.series; s += 1) {
      const difference = at("realised", s) - at("predicted", s);
      show("cell-acting-" + s, (100 * at("acting", s)).toFixed(1) + "\u00a0%");
      show("cell-predicted-" + s, at("predicted", s).toFixed(4));
      show("cell-realised-" + s, at("realised", s).toFixed(4));
      show("cell-difference-" + s, signed(difference));
    }
    view.signal("cost", c).signal("at", rows[c].threshold[t]).run();
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
