// The settings of this deployment, from `config.json` beside the page.

export type Config = {
  /** The currency of all amounts: orders do not contain it. */
  currency: string;
  /** The console's address, on a developer's machine. */
  console?: string;
} & (
  | { authorization: "off"; consumers?: string[] }
  | ({ authorization: "oidc" } & SignInSettings)
  | { authorization: "jwt" }
);

export interface SignInSettings {
  issuer: string;
  clientId: string;
  scope: string;
  audience?: string;
}

/** The request must equal the page's preload, so that the browser uses the preloaded response. */
export async function loadConfig(): Promise<Config> {
  const response = await fetch("config.json", { signal: AbortSignal.timeout(35_000) });
  if (!response.ok) throw new Error(`config.json: HTTP ${response.status}`);
  return (await response.json()) as Config;
}
