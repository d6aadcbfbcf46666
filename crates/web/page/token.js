// The login form.

import { byId, setText } from "./element.js";

let asking = null;

/** Shows the form until `login` accepts the token. All rejected requests wait for it. */
export function askToken(login) {
  asking ??= new Promise((resolve) => {
    const dialog = byId("token-dialog");
    const form = byId("token-form");
    const field = byId("token-field");
    const error = byId("token-error");
    // The first request has no token, so its rejection is not the user's mistake.
    setText(byId("token-reason"), "This server shows its data only with a token.");
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
    // The page does not work without a token.
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.showModal();
    field.focus();
  });
  return asking;
}
