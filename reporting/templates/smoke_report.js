
"use strict";
// Comfort only: all that there is to read stands in the page without it.
(() => {
  const names = JSON.parse(document.getElementById("names").textContent);
  const nodes = [...document.querySelectorAll("details.node")];
  const form = document.getElementById("search");
  const query = document.getElementById("query");
  const found = document.getElementById("found");
  const searched = nodes.map((node) => node.textContent.toLowerCase());
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  const search = () => {
    const wanted = query.value.trim().toLowerCase();
    let hits = 0;
    nodes.forEach((node, i) => {
      node.hidden = !searched[i].includes(wanted);
      hits += !node.hidden;
    });
    const alike = wanted ? names.filter((name) => name.toLowerCase().includes(wanted)).length : 0;
    found.textContent = wanted ? `${hits} shown in full, ${alike} nodes of this name` : "";
    if (wanted) document.getElementById("details").scrollIntoView();
  };
  let waiting = 0;
  query.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 150);
  });

  const pointed = document.getElementById("pointed");
  const at = (column, band, columns) => {
    const index = band * columns + column;
    return column >= 0 && column < columns && index < names.length ? index : -1;
  };
  const inGrid = (event, grid) => {
    const box = grid.getBoundingClientRect();
    const scale = grid.viewBox.baseVal.width / box.width;
    const width = 1200 / grid.dataset.columns;
    const x = (event.clientX - box.left) * scale - (grid.viewBox.baseVal.width - 1200);
    const band = Math.floor(((event.clientY - box.top) * scale) / grid.dataset.band);
    return at(Math.floor(x / width), band, Number(grid.dataset.columns));
  };
  const grid = document.querySelector("svg.grid");
  if (grid) {
    grid.addEventListener("mousemove", (event) => {
      const index = inGrid(event, grid);
      if (index >= 0) pointed.textContent = names[index];
    });
    grid.addEventListener("click", (event) => {
      const node = document.getElementById(`n${inGrid(event, grid)}`);
      if (node) {
        node.open = true;
        node.scrollIntoView();
      }
    });
  }
  document.querySelectorAll("figure.heat img").forEach((image) => {
    image.addEventListener("mousemove", (event) => {
      const box = image.getBoundingClientRect();
      const left = parseFloat(getComputedStyle(image).paddingLeft);
      const { columns, gpus, rows } = image.dataset;
      const x = ((event.clientX - box.left - left) / (box.width - left)) * columns;
      const y = Math.floor(((event.clientY - box.top) / box.height) * rows);
      const lines = Number(gpus) + 1;
      const index = at(Math.floor(x), Math.floor(y / lines), Number(columns));
      image.title = index < 0 || y % lines >= Number(gpus) ? "" : names[index] + (image.dataset.places === "gpu" ? ` gpu${y % lines}` : "");
    });
  });
})();
