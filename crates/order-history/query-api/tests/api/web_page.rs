//! The web page: its files, its security policy, and its settings.

use std::io::Read as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use lambda_boot::Environment;
use query_api::{Authorization, Config, ConfigError, Response, SignIn, WebPage};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::world::{RequestBuilder, World, assert_problem, body, web_page};

/// The page's files, `/` first.
fn paths() -> impl Iterator<Item = &'static str> {
    web::PAGE.files.iter().map(|file| file.path)
}

fn compressed(path: &str) -> RequestBuilder {
    RequestBuilder::get(path).header("accept-encoding", "gzip, deflate, br")
}

fn text(response: &Response) -> String {
    String::from_utf8(response.body_bytes().unwrap()).unwrap()
}

#[tokio::test]
async fn the_page_needs_no_token_and_accepts_any_query_string() {
    let api = World::create().await.guarded();
    for path in ["/", "/?code=a%2Fb&state=%FF&state=2", "/?%"] {
        let response = api.get(path).await;
        assert_eq!(response.status_code, 200, "{path}");
        assert_eq!(response.headers["content-type"], "text/html; charset=utf-8");
        assert!(text(&response).starts_with("<!doctype html>"), "{path}");
    }
    assert_eq!(api.get("/config.json?x=1").await.status_code, 200);
}

#[tokio::test]
async fn every_file_has_the_same_content_compressed_and_uncompressed() {
    let api = World::create().await.guarded();
    assert!(paths().count() >= 2, "a page and its script");
    for path in paths() {
        let (plain, gzip) = (api.get(path).await, api.send(compressed(path)).await);
        assert_eq!((plain.status_code, gzip.status_code), (200, 200), "{path}");
        assert_eq!((plain.headers.get("content-encoding"), gzip.headers["content-encoding"].as_str()), (None, "gzip"));
        let mut decoded = Vec::new();
        let bytes = gzip.body_bytes().unwrap();
        GzDecoder::new(bytes.as_slice()).read_to_end(&mut decoded).unwrap();
        assert!(bytes.len() < decoded.len(), "{path}");
        assert_eq!(plain.body_bytes(), Some(decoded), "{path}");
        for response in [plain, gzip] {
            assert_eq!(response.headers["vary"], "Accept-Encoding", "{path}");
            assert_eq!(response.headers["x-content-type-options"], "nosniff", "{path}");
        }
    }
}

#[tokio::test]
async fn the_page_is_revalidated_and_files_with_a_digest_in_their_names_are_cached_for_ever() {
    let api = World::create().await.guarded();
    for path in paths() {
        let expected = if path == "/" { "no-cache" } else { "public, max-age=31536000, immutable" };
        assert_eq!(api.get(path).await.headers["cache-control"], expected, "{path}");
    }
    assert_eq!(api.get("/config.json").await.headers["cache-control"], "no-cache");
}

#[tokio::test]
async fn an_unchanged_file_is_304_with_the_same_headers_and_no_body() {
    let api = World::create().await.guarded();
    for path in paths().chain(["/config.json"]) {
        let mut tags = Vec::new();
        for request in [RequestBuilder::get(path), compressed(path)] {
            let first = api.send(request.clone()).await;
            let tag = first.headers["etag"].clone();
            assert!(tag.starts_with('"'), "{path}: {tag} is a strong tag");
            let again = api.send(request.clone().header("if-none-match", tag.as_str())).await;
            assert_eq!((again.status_code, again.body.as_deref()), (304, None), "{path}");
            let mut expected = first.headers;
            expected.remove("content-encoding");
            assert_eq!(again.headers, expected, "{path}");
            let other = api.send(request.header("if-none-match", "\"other\"")).await;
            assert_eq!(other.status_code, 200, "{path}");
            tags.push(tag);
        }
        // Two codings of a file are two representations. The settings have one.
        assert_eq!(tags[0] == tags[1], path == "/config.json", "{path}");
    }
}

#[tokio::test]
async fn head_has_the_content_length_of_get() {
    let api = World::create().await.guarded();
    for path in paths().chain(["/config.json", "/assets/none.js"]) {
        for request in [RequestBuilder::get(path), compressed(path)] {
            let get = api.send(request.clone()).await;
            let mut head = api.send(request.method("HEAD")).await;
            let length = head.headers.remove("content-length").unwrap();
            assert_eq!(length, get.body_bytes().unwrap().len().to_string(), "{path}");
            assert_eq!((head.status_code, head.body.as_deref()), (get.status_code, None), "{path}");
            assert_eq!(head.headers, get.headers, "{path}");
        }
    }
}

#[tokio::test]
async fn other_methods_are_refused_and_options_lists_the_allowed_ones() {
    let api = World::create().await.guarded();
    for path in paths().chain(["/config.json"]) {
        let options = api.send(RequestBuilder::get(path).method("OPTIONS")).await;
        assert_eq!((options.status_code, options.headers["allow"].as_str()), (204, "GET, HEAD, OPTIONS"), "{path}");
        for method in ["POST", "PUT", "DELETE"] {
            assert_problem(&api.send(RequestBuilder::get(path).method(method)).await, 405, "method-not-allowed");
        }
    }
}

#[tokio::test]
async fn an_unknown_file_is_not_found_and_the_response_is_not_cached() {
    let api = World::create().await.guarded();
    let script = web::PAGE.files[1].path;
    let upper = script.to_ascii_uppercase();
    let below = format!("{script}/");
    let twice = script.replacen("/assets/", "/assets//", 1);
    for path in [
        "/assets",
        "/assets/",
        "/assets/none.js",
        "/assets/../Cargo.toml",
        "/assets/../../etc/passwd",
        "/assets/..%2f..%2fetc%2fpasswd",
        "/assets/..\\..\\config.json",
        "/assets/../config.json",
        "/index.html",
        "/config.json/",
        "//",
        &upper,
        &below,
        &twice,
    ] {
        let response = api.get(path).await;
        assert_problem(&response, 404, "route-not-found");
        assert_eq!(response.headers["cache-control"], "no-store", "{path}");
    }
}

#[tokio::test]
async fn a_page_of_another_version_gets_the_script_of_this_version_which_is_not_cached() {
    let api = World::create().await.guarded();
    let script = web::PAGE.files[1].path;
    let (name, _) = script.rsplit_once('-').unwrap();
    let other = api.get(&format!("{name}-0THER123.js")).await;
    assert_eq!((other.status_code, other.headers["cache-control"].as_str()), (200, "no-store"));
    assert_eq!(other.body_bytes(), api.get(script).await.body_bytes());
    for path in ["-0THER123.css", "-0ther123.js", "-0THER12.js", "-0THER1234.js", "-.js", "-0THÄR12.js"] {
        assert_problem(&api.get(&format!("{name}{path}")).await, 404, "route-not-found");
    }
}

#[tokio::test]
async fn the_page_works_behind_a_stage_in_the_path() {
    let api = World::create().await.guarded();
    for path in paths().chain(["/config.json"]) {
        let request = RequestBuilder::get(&format!("/prod{path}")).context("stage", "prod".into());
        assert_eq!(api.send(request).await.status_code, 200, "{path}");
    }
}

/// The directives of the policy.
fn policy(response: &Response) -> Vec<(String, String)> {
    let policy = response.headers["content-security-policy"].split("; ");
    let directive = |text: &str| {
        let (name, sources) = text.split_once(' ').unwrap();
        (name.to_owned(), sources.to_owned())
    };
    policy.map(directive).collect()
}

fn sources(response: &Response, directive: &str) -> String {
    policy(response).into_iter().find(|(name, _)| name == directive).unwrap().1
}

#[tokio::test]
async fn the_page_may_load_its_own_scripts_and_its_own_style_and_nothing_else() {
    let api = World::create().await.guarded();
    let response = api.get("/").await;
    let html = text(&response);
    let (_, rest) = html.split_once("<style>").unwrap();
    let (style, rest) = rest.split_once("</style>").unwrap();
    assert!(!rest.contains("<style"), "the page has one style");
    let hash = BASE64_STANDARD.encode(Sha256::digest(style));
    let expected = [
        ("default-src", "'none'"),
        ("script-src", "'self'"),
        ("style-src", &format!("'sha256-{hash}'")),
        ("img-src", "data:"),
        ("connect-src", "'self'"),
        ("form-action", "'none'"),
        ("base-uri", "'none'"),
        ("frame-ancestors", "'none'"),
        ("require-trusted-types-for", "'script'"),
        ("trusted-types", "'none'"),
    ];
    assert_eq!(policy(&response), expected.map(|(name, sources)| (name.to_owned(), sources.to_owned())));
    assert_eq!(response.headers["referrer-policy"], "no-referrer");
    assert_eq!(response.headers["cross-origin-opener-policy"], "same-origin");
}

#[tokio::test]
async fn the_page_may_call_the_sign_in_origins() {
    let world = World::create().await;
    for (issuer, origins, expected) in [
        ("https://login.example/users", "", "'self' https://login.example"),
        ("http://127.0.0.1:4000", "", "'self' http://127.0.0.1:4000"),
        (
            "https://login.example:8443/",
            "https://tokens.example http://[::1]:4000",
            "'self' https://login.example:8443 https://tokens.example http://[::1]:4000",
        ),
        ("https://login.example", "https://login.example", "'self' https://login.example"),
        (
            "https://a.example/",
            "https://b.example https://a.example https://b.example",
            "'self' https://a.example https://b.example",
        ),
    ] {
        let page = read(&[("SIGN_IN_ISSUER", issuer), ("SIGN_IN_CLIENT_ID", "page"), ("SIGN_IN_ORIGINS", origins)]);
        let api = world.with_page(jwt(), page.unwrap());
        assert_eq!(sources(&api.get("/").await, "connect-src"), expected);
    }
}

/// A browser blocks everything that the policy does not allow.
#[tokio::test]
async fn the_html_contains_nothing_that_its_policy_refuses_and_no_absolute_url() {
    let html = text(&World::create().await.guarded().get("/").await);
    let (before, rest) = html.split_once("<style>").unwrap();
    let (_, after) = rest.split_once("</style>").unwrap();
    let tags: Vec<_> = [before, after].iter().flat_map(|part| part.split('<').skip(1)).collect();
    let mut scripts = 0;
    for tag in tags {
        let (tag, content) = tag.split_once('>').unwrap();
        let mut words = tag.split_ascii_whitespace();
        let name = words.next().unwrap();
        for attribute in words.filter_map(|word| word.split_once('=')).map(|(attribute, _)| attribute) {
            assert!(!attribute.to_ascii_lowercase().starts_with("on"), "<{tag}> has a handler");
            assert_ne!(attribute, "style", "<{tag}> has a style of its own");
        }
        for attribute in ["href=", "src=", "action="] {
            let Some((_, value)) = tag.split_once(attribute) else { continue };
            let value = value.trim_start_matches('"');
            let is_relative = !value.starts_with('/') && !value.split(['"', '?']).next().unwrap().contains(':');
            assert!(is_relative || value.starts_with("data:image/"), "<{tag}> leads outside");
        }
        if name == "script" {
            scripts += 1;
            assert!(tag.contains("src=\"assets/"), "<{tag}> is inline");
            assert_eq!(content, "", "<{tag}> is inline");
        }
    }
    assert!(scripts > 0);
}

/// Including the files that the page loads only to sign in.
#[test]
fn the_whole_page_is_less_than_100_kilobytes_compressed() {
    let size: usize = web::PAGE.files.iter().map(|file| file.gzip.len()).sum();
    assert!(size < 100_000, "{size} bytes");
}

fn jwt() -> Authorization {
    Authorization::Jwt { consumer_id_claim: "sub".to_owned() }
}

#[tokio::test]
async fn the_settings_say_whether_and_how_to_sign_in() {
    let world = World::create().await;
    let check = async |authorization: Authorization, page: WebPage, expected: Value| {
        let response = world.with_page(authorization, page).get("/config.json").await;
        assert_eq!(response.headers["content-type"], "application/json");
        assert_eq!(response.headers["x-content-type-options"], "nosniff");
        assert_eq!(body(&response), expected);
    };
    let sample_consumers = vec!["1511300065921".to_owned(), "42".to_owned()];
    let local = WebPage { sample_consumers, console: Some("console".to_owned()), ..web_page() };
    let expected = json!({
        "authorization": "off", "currency": "USD", "consumers": ["1511300065921", "42"], "console": "console",
    });
    check(Authorization::Off, local, expected).await;
    check(jwt(), web_page(), json!({"authorization": "jwt", "currency": "USD"})).await;

    let sign_in = SignIn {
        issuer: "https://login.example".to_owned(),
        client_id: "page".to_owned(),
        scope: "openid orders:read-any".to_owned(),
        audience: None,
        origins: vec!["https://login.example".to_owned()],
    };
    let mut expected = json!({
        "authorization": "oidc", "currency": "EUR",
        "issuer": "https://login.example", "clientId": "page", "scope": "openid orders:read-any",
    });
    let page = WebPage { sign_in: Some(sign_in.clone()), currency: "EUR".to_owned(), ..web_page() };
    check(jwt(), page.clone(), expected.clone()).await;
    expected["audience"] = "ftgo".into();
    let sign_in = SignIn { audience: Some("ftgo".to_owned()), ..sign_in };
    check(jwt(), WebPage { sign_in: Some(sign_in), ..page.clone() }, expected).await;
    // Without authorization, nobody needs to sign in.
    check(Authorization::Off, page, json!({"authorization": "off", "currency": "EUR"})).await;
}

/// The page's settings with these variables.
fn read(variables: &[(&str, &str)]) -> Result<WebPage, ConfigError> {
    let lambda = [
        ("ORDER_HISTORY_TABLE", "t"),
        ("AWS_LAMBDA_RUNTIME_API", "x"),
        ("AWS_LAMBDA_FUNCTION_NAME", "x"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
    ];
    let variables: Vec<_> = lambda.iter().chain(variables).copied().collect();
    let find =
        |name: &str| variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned());
    Config::read(&Environment::from_fn(find)).map(|config| config.web_page)
}

#[test]
fn all_settings_of_the_page_are_read_from_the_environment() {
    assert_eq!(read(&[]), Ok(web_page()));
    let all = [
        ("SIGN_IN_ISSUER", "https://login.example/users"),
        ("SIGN_IN_CLIENT_ID", "page"),
        ("SIGN_IN_SCOPE", "openid orders:read-any"),
        ("SIGN_IN_AUDIENCE", "ftgo"),
        ("SIGN_IN_ORIGINS", "https://tokens.example"),
        ("CURRENCY", "CHF"),
        ("SAMPLE_CONSUMERS", "1, 42,,"),
        ("CONSOLE", "console"),
    ];
    let sign_in = SignIn {
        issuer: "https://login.example/users".to_owned(),
        client_id: "page".to_owned(),
        scope: "openid orders:read-any".to_owned(),
        audience: Some("ftgo".to_owned()),
        origins: vec!["https://login.example".to_owned(), "https://tokens.example".to_owned()],
    };
    let expected = WebPage {
        sign_in: Some(sign_in),
        currency: "CHF".to_owned(),
        sample_consumers: vec!["1".to_owned(), "42".to_owned()],
        console: Some("console".to_owned()),
    };
    assert_eq!(read(&all), Ok(expected));
    let least = read(&[("SIGN_IN_ISSUER", "https://login.example"), ("SIGN_IN_CLIENT_ID", "page")]).unwrap();
    assert_eq!(least.sign_in.unwrap().scope, "openid");
}

#[test]
fn an_invalid_setting_stops_the_function() {
    let client = ("SIGN_IN_CLIENT_ID", "page");
    let issuer = ("SIGN_IN_ISSUER", "https://login.example");
    assert_eq!(read(&[client]), Err(ConfigError::IncompleteSignIn));
    assert_eq!(read(&[issuer]), Err(ConfigError::IncompleteSignIn));
    for bad in [
        "login.example",
        "ftp://login.example",
        "http://login.example",
        "https://",
        "https:///users",
        "https://login.example; script-src *",
        "https://login.example/a b",
        "https://user@login.example",
        "https://login.example:0",
        "https://login.example:port",
        "https://login.example:",
        "https://login.example?tenant=1",
        "https://login.example/#x",
        "https://[2001:db8::1]",
        "HTTPS//login.example",
        "http://localhost.login.example",
        "http://127.0.0.1.login.example",
    ] {
        assert_eq!(read(&[("SIGN_IN_ISSUER", bad), client]), Err(ConfigError::Issuer), "{bad}");
    }
    for bad in
        ["https://a.example/", "https://a.example,https://b.example", "*", "'unsafe-inline'", "https://*.example"]
    {
        assert_eq!(read(&[issuer, client, ("SIGN_IN_ORIGINS", bad)]), Err(ConfigError::Origins), "{bad}");
    }
    for bad in ["profile", "openid,profile", "OPENID"] {
        assert_eq!(read(&[issuer, client, ("SIGN_IN_SCOPE", bad)]), Err(ConfigError::Scope), "{bad}");
    }
    for bad in ["usd", "EURO", "$", "E R"] {
        assert_eq!(read(&[("CURRENCY", bad)]), Err(ConfigError::Currency), "{bad}");
    }
}
