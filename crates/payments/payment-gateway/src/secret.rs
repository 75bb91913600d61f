//! The secret that authenticates us to the gateway.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use aws_sdk_secretsmanager::Client;
use tokio::sync::Mutex;

/// A bearer token. Neither `Debug` nor an error shows it.
pub struct Secret {
    source: Source,
    current: Mutex<Option<Token>>,
}

enum Source {
    Fixed(Token),
    SecretsManager { client: Client, arn: String },
}

/// A token that can be sent in a header.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(Arc<str>);

/// The text cannot be sent as a bearer token.
#[derive(Debug, thiserror::Error)]
#[error("it must have at least one character, and only visible ASCII characters")]
pub struct InvalidSecret;

impl Secret {
    /// A token that never changes, for local runs.
    pub fn fixed(token: &str) -> Result<Self, InvalidSecret> {
        Ok(Self { source: Source::Fixed(Token::parse(token)?), current: Mutex::default() })
    }

    /// The text of the secret `arn` in AWS Secrets Manager. It is read at the first request, and again when the gateway refuses it.
    #[must_use]
    pub fn in_secrets_manager(client: Client, arn: &str) -> Self {
        Self { source: Source::SecretsManager { client, arn: arn.to_owned() }, current: Mutex::default() }
    }

    /// The token from the last read.
    pub(crate) async fn token(&self) -> Result<Token, Box<dyn Error + Send + Sync>> {
        let mut current = self.current.lock().await;
        match &*current {
            Some(token) => Ok(token.clone()),
            None => Ok(current.insert(self.source.read().await?).clone()),
        }
    }

    /// The token that has replaced `refused`. `None`: it has not been replaced yet.
    pub(crate) async fn token_after(&self, refused: &Token) -> Result<Option<Token>, Box<dyn Error + Send + Sync>> {
        let mut current = self.current.lock().await;
        // Another request may have read the new token already.
        if current.as_ref() == Some(refused) {
            *current = Some(self.source.read().await?);
        }
        Ok(current.clone().filter(|token| token != refused))
    }
}

impl Source {
    async fn read(&self) -> Result<Token, Box<dyn Error + Send + Sync>> {
        match self {
            Self::Fixed(token) => Ok(token.clone()),
            Self::SecretsManager { client, arn } => {
                let secret = client.get_secret_value().secret_id(arn).send().await?;
                Ok(Token::parse(secret.secret_string().unwrap_or_default())?)
            }
        }
    }
}

impl Token {
    fn parse(text: &str) -> Result<Self, InvalidSecret> {
        // A secret from a file may end with a line break.
        let text = text.trim_end();
        let is_sendable = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_sendable { Ok(Self(text.into())) } else { Err(InvalidSecret) }
    }

    /// The value of the header `Authorization`.
    pub(crate) fn to_authorization(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match &self.source {
            Source::Fixed(_) => "fixed",
            Source::SecretsManager { arn, .. } => arn,
        };
        f.debug_tuple("Secret").field(&source).finish()
    }
}
