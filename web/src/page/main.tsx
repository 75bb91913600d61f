import { render } from "preact";

const app = document.getElementById("app");
if (app) render(<h1>Your orders</h1>, app);
