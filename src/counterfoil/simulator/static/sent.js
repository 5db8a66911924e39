// A form that was sent is on its way: its button says so, and another press sends nothing more. Whoever goes back finds
// it as it was; so does whoever stopped the browser, after longer than any answer takes.
const LONGEST = 30_000;
const said = document.createElement("p");
said.className = "visually-hidden";
said.setAttribute("role", "status");
document.querySelector("main")?.append(said);

const ready = (form) => {
  delete form.dataset.sent;
  for (const button of form.querySelectorAll("button[aria-busy]")) button.removeAttribute("aria-busy");
  said.textContent = "";
};

addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = "yes";
  event.submitter?.setAttribute("aria-busy", "true");
  // Most answers are there before that could be read out.
  setTimeout(() => form.dataset.sent && (said.textContent = "On its way."), 1000);
  setTimeout(() => ready(form), LONGEST);
});

addEventListener("pageshow", (event) => {
  if (event.persisted) document.querySelectorAll("form[data-sent]").forEach(ready);
});
