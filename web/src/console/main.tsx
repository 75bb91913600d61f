import { render } from "preact";
import { Api } from "./api";
import { App } from "./app";
import { keepFocus } from "./focus";

const app = document.getElementById("app");
if (app) {
  app.replaceChildren();
  keepFocus(app);
  render(<App api={new Api("api/")} />, app);
}
