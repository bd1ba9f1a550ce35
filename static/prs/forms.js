// Forms that send themselves, and forms that must not be sent twice.

export function startForms() {
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-send-on-change]")) event.target.form.requestSubmit();
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method === "get") leaveOutEmpty(form);
    if ("sendOnce" in form.dataset) sendOnce(form, event);
  });
  // Back from the browser's cache: fields that were left out for sending count again.
  window.addEventListener("pageshow", () => {
    for (const control of document.querySelectorAll("[data-left-out]")) {
      control.disabled = false;
      delete control.dataset.leftOut;
    }
    for (const form of document.querySelectorAll("[data-sent]")) delete form.dataset.sent;
  });
}

// Default values never appear in the address.
function leaveOutEmpty(form) {
  for (const control of form.elements) {
    if (control.name && control.value === "" && !control.disabled) {
      control.disabled = true;
      control.dataset.leftOut = "";
    }
  }
}

// The server makes one job of two requests anyway; this spares the second.
function sendOnce(form, event) {
  if ("sent" in form.dataset) event.preventDefault();
  form.dataset.sent = "";
}
