// Narrows the index to a class, a confidence or what is wrong; a link in it opens the explanation that it leads to.
const rows = [...document.querySelectorAll("tbody tr")];
const controls = [...document.querySelectorAll(".filters select")];
const count = document.getElementById("count");

function narrow() {
  const fits = (row) => controls.every(({ name, value }) => value === "" || row.dataset[name] === value);
  let shown = 0;
  for (const row of rows) {
    row.hidden = !fits(row);
    shown += !row.hidden;
    const one = document.getElementById(`e${row.dataset.number}`);
    if (one) one.hidden = row.hidden;
  }
  count.textContent = count.dataset.text.replace("{shown}", shown).replace("{all}", rows.length);
}

function open() {
  const one = document.getElementById(location.hash.slice(1));
  if (one && one.tagName === "DETAILS") {
    one.open = true;
    one.scrollIntoView();
  }
}

if (count) {
  document.querySelector(".filters").hidden = false;
  controls.forEach((control) => control.addEventListener("change", narrow));
  addEventListener("hashchange", open);
  narrow();
  open();
}
