import { render } from "preact";
import { loadConfig } from "./config";
import { Session } from "./session";
import { App } from "./view/app";

const root = document.getElementById("app") as HTMLElement;

try {
  const config = await loadConfig();
  const session = await Session.start(config);
  root.replaceChildren();
  render(<App config={config} session={session} />, root);
} catch (error) {
  console.error(error);
  root.replaceChildren();
  render(<NoSettings />, root);
}

function NoSettings() {
  return (
    <main class="wrap">
      <h1>Orders</h1>
      <div class="notice bad" role="alert">
        <p>This page could not load its settings. Please check your connection and reload the page.</p>
        <button type="button" class="button small" onClick={() => location.reload()}>
          Reload
        </button>
      </div>
    </main>
  );
}
