// The settings of this deployment, from `config.json` beside the page.

export type Config = {
  /** Of all amounts: orders do not name theirs. */
  currency: string;
  /** Where the console is, on a developer's machine. */
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

/** As the page's preload asks for it, so that the browser uses what it has loaded already. */
export async function loadConfig(): Promise<Config> {
  const response = await fetch("config.json", { signal: AbortSignal.timeout(35_000) });
  if (!response.ok) throw new Error(`config.json: HTTP ${response.status}`);
  return (await response.json()) as Config;
}
