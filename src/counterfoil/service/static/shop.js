// The price follows the code once it was typed: on leaving the field, on Enter, or when it was pasted. Not while it is
// typed: half a code is a wrong one, and wrong ones are counted. Without script the button beside the field shows it.
const price = document.querySelector("[data-price]");
const code = document.querySelector("#code");
if (price && code) {
  let asked = 0;
  let shown = code.value;
  const ask = async () => {
    if (code.value === shown) return;
    shown = code.value;
    const mine = ++asked;
    price.setAttribute("aria-busy", "true");
    const answer = await fetch(`${price.dataset.price}?code=${encodeURIComponent(code.value)}`).catch(() => undefined);
    const text = answer && (answer.ok || answer.status === 429) ? await answer.text() : undefined;
    if (mine !== asked) return;
    price.removeAttribute("aria-busy");
    // Not reached: the price that stands here is still true, and the button asks again.
    if (text === undefined) shown = undefined;
    else price.innerHTML = text;
  };
  code.addEventListener("change", ask);
  code.addEventListener("input", (typed) => {
    if (typed.inputType === "insertFromPaste" || typed.inputType === "insertFromDrop") ask();
  });
}
