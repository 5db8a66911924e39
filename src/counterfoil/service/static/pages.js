// Saves a reload or a movement of the hand, no more: without it every page works by its links and forms.

// What changes by itself says so when it cannot, and is silent again as soon as it can: <main> begins with a line.
const line = document.createElement("div");
line.className = "lost";
line.setAttribute("role", "status");
const lost = () => {
  if (line.firstChild) return;
  const text = document.createElement("p");
  const reload = document.createElement("a");
  text.className = "notice warn";
  reload.href = location.href;
  reload.textContent = "Reload";
  text.append("Not live just now: what you see may be old. ", reload);
  line.append(text);
};
const found = () => line.replaceChildren();
if (document.querySelector("[data-live], [data-again]")) document.querySelector("main").prepend(line);

// Regions that are fetched anew when the server says that something changed:
// <section id="numbers" data-live="/admin/live"> … </section>, all on one page with the same address.
const live = document.querySelector("[data-live]");
if (live) {
  let news, due, asking, missing, again;
  const fresh = async () => {
    due = undefined;
    if (asking) return (asking = "again");
    asking = "once";
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => undefined);
    // Signed out, or gone: the page itself says so better than a region could. Not reached: the next event asks again.
    if (answer && (answer.redirected || !answer.ok)) return location.reload();
    if (answer) {
      const anew = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const region of document.querySelectorAll("[data-live][id]")) replace(region, anew.getElementById(region.id));
    }
    const more = asking === "again";
    asking = undefined;
    if (more) soon();
  };
  // Many changes at once are one look.
  const soon = () => (due ??= setTimeout(fresh, 300));
  const replace = (region, other) => {
    if (!other || other.innerHTML === region.innerHTML) return;
    const focused = region.contains(document.activeElement) ? document.activeElement : undefined;
    // Nothing that somebody is typing, or has just sent, is taken from under their hands.
    if (focused?.matches("input, select, textarea") || region.querySelector("form[data-sent]")) return;
    const open = [...region.querySelectorAll("details[open][id]")].map((one) => one.id);
    region.replaceChildren(...other.childNodes);
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focused?.id) document.getElementById(focused.id)?.focus();
  };
  // A browser keeps few connections to one host: tabs that nobody sees give theirs back.
  const listen = () => {
    news?.close();
    clearTimeout(again);
    if (document.hidden) return;
    let before = news !== undefined;
    news = new EventSource(live.dataset.live);
    news.addEventListener("changed", soon);
    news.addEventListener("open", () => {
      missing = clearTimeout(missing);
      found();
      if (before) soon();
      before = true;
    });
    news.addEventListener("error", () => {
      // A service that begins anew is back before that.
      missing ??= setTimeout(lost, 5000);
      // An answer that is no stream is the browser's last word; not ours.
      if (news.readyState === EventSource.CLOSED) again = setTimeout(listen, 5000);
    });
  };
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => news?.close());
  listen();
}

// What can be copied with a press: <button data-copy="…" hidden>.
for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) break;
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = label), 2000);
  });
}

for (const button of document.querySelectorAll("button[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

// How long something is kept, by the clock that decides: this computer's may be wrong, and may have slept.
// <span data-until="…" data-now="…">
for (const until of document.querySelectorAll("[data-until]")) {
  const ahead = new Date(until.dataset.now) - Date.now();
  const end = new Date(until.dataset.until) - ahead;
  let next;
  const show = () => {
    clearTimeout(next);
    const left = Math.ceil((end - Date.now()) / 1000);
    if (left <= 0) return location.reload();
    until.textContent = left >= 120 ? `(${Math.floor(left / 60)} more minutes)` : `(${left} more seconds)`;
    next = setTimeout(show, 1000);
  };
  if (end > Date.now()) {
    show();
    // After sleep the timers go on where they were; the page is looked at before they do.
    document.addEventListener("visibilitychange", show);
    addEventListener("pageshow", show);
  }
}

// A page that waits for something looks again by itself, every so many seconds, and changes once there is something new.
const waits = document.querySelector("[data-again]");
if (waits) {
  const look = async () => {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => undefined);
    const anew = answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html");
    if (anew && !anew.querySelector("[data-again]")) return location.reload();
    if (anew) found();
    else lost();
    setTimeout(look, 1000 * waits.dataset.again);
  };
  setTimeout(look, 1000 * waits.dataset.again);
}
