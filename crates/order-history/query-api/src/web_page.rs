//! The web page: its files, which the crate `web` embeds, and its settings.

use api_gateway::{JSON, Request, Response};
use serde::Serialize;
use web::File;

use crate::config::Authorization;
use crate::problem::ProblemKind;
use crate::response::digest;

/// The settings of the page. They are public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebPage {
    /// How users sign in; none if this page has no sign-in.
    pub sign_in: Option<SignIn>,
    /// The currency of the orders' amounts, such as `USD`. Orders do not contain it.
    pub currency: String,
    /// Consumers that the page suggests if there is no sign-in.
    pub sample_consumers: Vec<String>,
    /// The console's relative URL, if there is a console.
    pub console: Option<String>,
}

/// How users sign in: `OpenID` Connect, authorization code with PKCE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// The URL of the issuer. The URL of the discovery document starts with it.
    pub issuer: String,
    /// The page's client id at the issuer. There is no client secret, because a page cannot keep one.
    pub client_id: String,
    /// The scopes to request, separated by spaces.
    pub scope: String,
    /// The audience to request, if the issuer needs one.
    pub audience: Option<String>,
    /// The origins that the page calls to sign in: that of the issuer, and those of its endpoints if they differ.
    pub origins: Vec<String>,
}

/// `/config.json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Settings<'a> {
    authorization: &'static str,
    currency: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    consumers: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    console: Option<&'a str>,
}

impl WebPage {
    /// A file of the page. A client that has it already gets 304.
    pub(crate) fn file(&self, request: &Request, file: &'static File) -> Response {
        let is_compressed = request.accepts_encoding("gzip");
        let response = Response::bytes(200, file.content_type, if is_compressed { file.gzip } else { file.plain });
        // Two codings are two representations, and each needs its own strong tag (RFC 9110, 8.8.3.3).
        let (response, etag) = if is_compressed {
            (response.with("content-encoding", "gzip"), format!("\"{}-gzip\"", file.digest))
        } else {
            (response, format!("\"{}\"", file.digest))
        };
        let response = response
            .with("vary", "Accept-Encoding")
            .with("x-content-type-options", "nosniff")
            .tagged(&etag, request.header("if-none-match"));
        if file.is_immutable() {
            return response.with("cache-control", "public, max-age=31536000, immutable");
        }
        response
            .with("cache-control", "no-cache")
            .with("content-security-policy", self.content_security_policy())
            .with("cross-origin-opener-policy", "same-origin")
            .with("referrer-policy", "no-referrer")
    }

    /// The page's settings. A client must revalidate them, because a deployment may change them.
    pub(crate) fn settings(&self, request: &Request, authorization: &Authorization) -> Result<Response, ProblemKind> {
        let (name, sign_in) = match (authorization, &self.sign_in) {
            (Authorization::Off, _) => ("off", None),
            (Authorization::Jwt { .. }, None) => ("jwt", None),
            (Authorization::Jwt { .. }, Some(sign_in)) => ("oidc", Some(sign_in)),
        };
        let settings = Settings {
            authorization: name,
            currency: &self.currency,
            issuer: sign_in.map(|sign_in| sign_in.issuer.as_str()),
            client_id: sign_in.map(|sign_in| sign_in.client_id.as_str()),
            scope: sign_in.map(|sign_in| sign_in.scope.as_str()),
            audience: sign_in.and_then(|sign_in| sign_in.audience.as_deref()),
            consumers: &self.sample_consumers,
            console: self.console.as_deref(),
        };
        let settings = serde_json::to_string(&settings).map_err(|_| ProblemKind::Internal)?;
        let etag = format!("\"{}\"", digest([settings.as_str()]));
        let response = Response::json(200, JSON, settings).with("x-content-type-options", "nosniff");
        Ok(response.with("cache-control", "no-cache").tagged(&etag, request.header("if-none-match")))
    }

    /// Allows the page to call this API and the sign-in origins.
    fn content_security_policy(&self) -> String {
        let origins = self.sign_in.as_ref().map(|sign_in| sign_in.origins.as_slice());
        web::PAGE.content_security_policy(origins.unwrap_or_default())
    }
}
