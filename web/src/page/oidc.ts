// OpenID Connect: the code flow with PKCE. This module is loaded only for sign-in, renewal and sign-out.
import * as oauth from "oauth4webapi";
import type { SignInSettings } from "./config";
import type { Grant } from "./session";

/** The values that are needed when the issuer redirects back. */
export interface Attempt {
  verifier: string;
  state: string;
  nonce: string;
}

/** The longest time for all requests of one operation, in milliseconds. */
const PATIENCE = 20_000;

/** Returns the issuer's address for sign-in, and the values to store until the redirect back. */
export async function begin(
  settings: SignInSettings,
  redirectUri: string,
  askAgain: boolean,
): Promise<{ url: URL; attempt: Attempt }> {
  const { server } = await discover(settings);
  if (!server.authorization_endpoint) throw new Error("the issuer has no authorization_endpoint");
  const attempt: Attempt = {
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
  };
  const url = new URL(server.authorization_endpoint);
  const parameters: Record<string, string> = {
    client_id: settings.clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: settings.scope,
    state: attempt.state,
    nonce: attempt.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(attempt.verifier),
    code_challenge_method: "S256",
  };
  if (settings.audience) parameters.audience = settings.audience;
  if (askAgain) parameters.prompt = "login";
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url, attempt };
}

/** Exchanges the code of the redirect for tokens. An attempt can be used once. */
export async function finish(
  settings: SignInSettings,
  redirectUri: string,
  callback: URL,
  { verifier, state, nonce }: Attempt,
): Promise<Grant> {
  const { server, client, options } = await discover(settings);
  const parameters = oauth.validateAuthResponse(server, client, callback, state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    redirectUri,
    verifier,
    options,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  });
  return toGrant(tokens, { scope: settings.scope });
}

/** Gets a new token with the refresh token. */
export async function renew(settings: SignInSettings, grant: Grant & { refreshToken: string }): Promise<Grant> {
  const { server, client, options } = await discover(settings);
  const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), grant.refreshToken, options);
  return toGrant(await oauth.processRefreshTokenResponse(server, client, response), grant);
}

/** Revokes the tokens if the issuer supports it, and returns the address that ends the issuer's session. */
export async function leave(settings: SignInSettings, grant: Grant, redirectUri: string): Promise<URL | undefined> {
  const { server, client, options } = await discover(settings);
  if (server.revocation_endpoint) {
    const token = grant.refreshToken ?? grant.accessToken;
    // The page deletes the token in any case: a failed revocation must not prevent the sign-out.
    await oauth.revocationRequest(server, client, oauth.None(), token, options).catch(() => undefined);
  }
  if (!server.end_session_endpoint) return undefined;
  const url = new URL(server.end_session_endpoint);
  if (grant.idToken) url.searchParams.set("id_token_hint", grant.idToken);
  url.searchParams.set("client_id", settings.clientId);
  url.searchParams.set("post_logout_redirect_uri", redirectUri);
  // Cognito's parameter: without it Cognito shows an error instead of the page. Other issuers ignore it.
  // https://docs.aws.amazon.com/cognito/latest/developerguide/logout-endpoint.html
  url.searchParams.set("logout_uri", redirectUri);
  return url;
}

/** Whether the issuer rejected the token, so that a retry with the same token is useless. */
export function isRefused(error: unknown): boolean {
  return error instanceof oauth.ResponseBodyError;
}

async function discover(settings: SignInSettings) {
  const issuer = new URL(settings.issuer);
  const options = {
    signal: AbortSignal.timeout(PATIENCE),
    ...(isLoopback(issuer) ? { [oauth.allowInsecureRequests]: true } : {}),
  };
  const response = await oauth.discoveryRequest(issuer, { algorithm: "oidc", ...options });
  const server = await oauth.processDiscoveryResponse(issuer, response);
  return { server, client: { client_id: settings.clientId } satisfies oauth.Client, options };
}

/** http is allowed only for an issuer on the developer's own machine. */
function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
}

/** Values that the response does not contain are taken from `before`. */
function toGrant(tokens: oauth.TokenEndpointResponse, before: Partial<Grant> & { scope: string }): Grant {
  const name = nameOf(oauth.getValidatedIdTokenClaims(tokens) ?? {}) ?? before.name;
  const refreshToken = tokens.refresh_token ?? before.refreshToken;
  const idToken = tokens.id_token ?? before.idToken;
  const lifetime = tokens.expires_in;
  return {
    accessToken: tokens.access_token,
    scope: tokens.scope ?? before.scope,
    ...(lifetime === undefined ? {} : { lifetime, expiresAt: Date.now() + lifetime * 1000 }),
    ...(refreshToken ? { refreshToken } : {}),
    ...(idToken ? { idToken } : {}),
    ...(name ? { name } : {}),
  };
}

/** The user's name: the most readable claim. Cognito's `sub` is a UUID, and its user name may be one. */
export function nameOf(claims: Readonly<Record<string, unknown>>): string | undefined {
  const known = ["name", "preferred_username", "email", "cognito:username", "sub"].map(claim => claims[claim]);
  return known.find((text): text is string => typeof text === "string" && text !== "");
}
