// The reader as the diver.
function dive() {
  const sea = document.getElementById("sea"), place = document.querySelector(".dive");
  if (!sea || !place) return;
  const depth = Number(sea.dataset.depth), pitch = Number(sea.dataset.pitch), middle = Number(sea.dataset.middle), diver = document.getElementById("diver");
  let row = 0, column = 0, dives = 0, found = 0;
  place.hidden = false;
  const left = make("button", { type: "button" }, place, "↙ left"), right = make("button", { type: "button" }, place, "↘ right");
  const chance = make("button", { type: "button" }, place, "1,000 dives by coin flips");
  const count = make("span", { class: "count", "aria-live": "polite" }, place, `Try it, at depth ${depth}.`);

  function placeDiver() {
    diver.setAttribute("cx", column * pitch + middle);
    diver.setAttribute("cy", row * pitch + middle);
  }

  function move(step) {
    if (row === depth - 1) {
      const won = step === 1 && column === depth - 1;
      dives += 1;
      found += won;
      count.textContent = (won ? "Found it! " : "Nothing there. ") + `${dives} ${dives === 1 ? "dive" : "dives"}, treasure found ${found} ${found === 1 ? "time" : "times"}.`;
      row = column = 0;
    } else {
      row += 1;
      column = Math.max(0, column + step);
    }
    placeDiver();
  }

  left.addEventListener("click", () => move(-1));
  right.addEventListener("click", () => move(1));
  chance.addEventListener("click", () => {
    let lucky = 0;
    for (let i = 0; i < 1000; i++) {
      let all = true;
      for (let l = 0; l < depth; l++) all = Math.random() < 0.5 && all;
      lucky += all;
    }
    count.textContent = `By coin flips: ${lucky} of 1,000 dives found it here, where about ${Math.round(1000 / 2 ** depth)} are expected. At depth 20 it would be one in ${show(2 ** 20)}.`;
  });
}

dive();
