// The price follows the code as it is typed. Without script the button beside the field shows it.
const price = document.querySelector("[data-price]");
const code = document.querySelector("#code");
if (price && code) {
  let waiting = 0;
  let asked = 0;
  code.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const mine = ++asked;
      price.setAttribute("aria-busy", "true");
      const answer = await fetch(`${price.dataset.price}?code=${encodeURIComponent(code.value)}`).catch(() => undefined);
      const text = answer?.ok ? await answer.text() : undefined;
      if (mine !== asked) return;
      price.removeAttribute("aria-busy");
      // Not reached: the price that stands here is still true, and the button asks again.
      if (text !== undefined) price.innerHTML = text;
    }, 250);
  });
}
