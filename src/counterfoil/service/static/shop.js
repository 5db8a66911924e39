// Saves a reload, no more: without it every page works by its forms.

// The price follows the code as it is typed.
const price = document.querySelector("[data-price]");
const code = document.querySelector("#code");
if (price && code) {
  let waiting = 0;
  let asked = 0;
  code.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const mine = ++asked;
      const answer = await fetch(`${price.dataset.price}?code=${encodeURIComponent(code.value)}`);
      const text = await answer.text();
      if (answer.ok && mine === asked) price.innerHTML = text;
    }, 250);
  });
}

// How long a place is kept, by the clock that decides: this computer's may be wrong, and may have slept.
const until = document.querySelector("[data-until]");
if (until) {
  const ahead = new Date(until.dataset.now) - Date.now();
  const end = new Date(until.dataset.until) - ahead;
  const show = () => {
    const left = Math.floor((end - Date.now()) / 1000);
    if (left <= 0) return location.reload();
    until.textContent = left >= 120 ? `(${Math.floor(left / 60)} more minutes)` : `(${left} more seconds)`;
    setTimeout(show, 1000);
  };
  if (end > Date.now()) show();
}
