import { render } from "preact";
import { Api } from "./api";
import { App } from "./app";

const app = document.getElementById("app");
if (app) {
  app.replaceChildren();
  render(<App api={new Api("api/")} />, app);
}
