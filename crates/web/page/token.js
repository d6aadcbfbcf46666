// The form that asks for the token when the server wants one.

import { byId, setText } from "./element.js";

let asking = null;

/** Shows the form until `login` takes the token. All requests that were refused meanwhile wait for the same answer. */
export function askToken(login, reason) {
  asking ??= new Promise((resolve) => {
    const dialog = byId("token-dialog");
    const form = byId("token-form");
    const field = byId("token-field");
    const error = byId("token-error");
    setText(byId("token-reason"), reason);
    setText(error, "");
    const submit = async (event) => {
      event.preventDefault();
      try {
        await login(field.value.trim());
        field.value = "";
        form.removeEventListener("submit", submit);
        asking = null;
        dialog.close();
        resolve();
      } catch (problem) {
        setText(error, problem.message);
        field.select();
      }
    };
    form.addEventListener("submit", submit);
    // Without a token there is nothing behind the form.
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.showModal();
    field.focus();
  });
  return asking;
}
