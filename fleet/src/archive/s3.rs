//! Objects of an S3 server: requests signed with version 4 of AWS' signatures, by the path of the bucket.

use jiff::Timestamp;
use reqwest::{Method, StatusCode, Url};
use ring::{digest, hmac};

use crate::worker::Failure;

/// A login. It comes from the environment alone, and nothing prints it.
#[derive(Clone)]
pub(super) struct Login {
    pub(super) id: String,
    pub(super) secret: String,
    /// Of a login that ends by itself.
    pub(super) token: Option<String>,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

impl Login {
    pub(super) fn from_env() -> Result<Self, Failure> {
        let read = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let [id, secret, token] = super::LOGIN;
        let need = |name: &str| read(name).ok_or_else(|| format!("an archive on S3 needs {name} in the environment"));
        Ok(Self { id: need(id)?, secret: need(secret)?, token: read(token) })
    }
}

#[derive(Debug, Clone)]
pub(super) struct Bucket {
    /// The server with the bucket's path, which ends with a slash.
    pub(super) url: Url,
    pub(super) region: String,
}

impl Bucket {
    pub(super) async fn put(&self, key: &str, content: Vec<u8>, login: &Login) -> Result<(), Failure> {
        let (status, said) = self.send(Method::PUT, key, content, login).await?;
        if status.is_success() { Ok(()) } else { Err(refused("PUT", key, status, &said)) }
    }

    pub(super) async fn get(&self, key: &str, login: &Login) -> Result<Option<Vec<u8>>, Failure> {
        let (status, said) = self.send(Method::GET, key, Vec::new(), login).await?;
        match status {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => Ok(Some(said)),
            status => Err(refused("GET", key, status, &said)),
        }
    }

    pub(super) async fn remove(&self, key: &str, login: &Login) -> Result<(), Failure> {
        let (status, said) = self.send(Method::DELETE, key, Vec::new(), login).await?;
        if status.is_success() || status == StatusCode::NOT_FOUND {
            return Ok(());
        }
        Err(refused("DELETE", key, status, &said))
    }

    async fn send(
        &self,
        method: Method,
        key: &str,
        content: Vec<u8>,
        login: &Login,
    ) -> Result<(StatusCode, Vec<u8>), Failure> {
        let url = self.url.join(key)?;
        let client = windlass_engine::http::client(&url).build()?;
        let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut request = client.request(method.clone(), url.clone());
        for (name, value) in signed(method.as_str(), &url, &self.region, &content, &now, login) {
            request = request.header(name, value);
        }
        let answer = request.body(content).send().await.map_err(|error| error.without_url())?;
        let status = answer.status();
        Ok((status, answer.bytes().await.map_err(|error| error.without_url())?.to_vec()))
    }
}

fn refused(method: &str, key: &str, status: StatusCode, said: &[u8]) -> Failure {
    let said = String::from_utf8_lossy(said);
    let code = said.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map_or("", |(code, _)| code);
    format!("the object store answered {method} {key} with {status} {code}").trim_end().to_owned().into()
}

/// The headers of a request, with its signature.
fn signed(
    method: &str,
    url: &Url,
    region: &str,
    content: &[u8],
    now: &str,
    login: &Login,
) -> Vec<(&'static str, String)> {
    let host = match (url.host_str().unwrap_or_default(), url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    let mut headers = vec![
        ("host", host),
        ("x-amz-content-sha256", hex(digest::digest(&digest::SHA256, content).as_ref())),
        ("x-amz-date", now.to_owned()),
    ];
    headers.extend(login.token.iter().map(|token| ("x-amz-security-token", token.clone())));
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let request = format!("{method}\n{}\n\n{lines}\n{names}\n{}", url.path(), headers[1].1);
    let day = now.get(..8).unwrap_or_default();
    let scope = format!("{day}/{region}/s3/aws4_request");
    let hashed = hex(digest::digest(&digest::SHA256, request.as_bytes()).as_ref());
    let text = format!("AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashed}");
    let mut key = format!("AWS4{}", login.secret).into_bytes();
    for part in [day, region, "s3", "aws4_request"] {
        key = mac(&key, part);
    }
    let signature = hex(&mac(&key, &text));
    let id = &login.id;
    let authorization =
        format!("AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}");
    headers.push(("authorization", authorization));
    headers
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AWS' own example of a signed GET, without its `range` header, computed by hand with botocore's rules.
    #[test]
    fn headers_are_signed_in_order_and_no_login_is_printed() {
        let login = Login { id: "AKID".into(), secret: "secret".into(), token: Some("t".into()) };
        assert_eq!(format!("{login:?}"), "Login { .. }");
        let url = Url::parse("http://127.0.0.1:9000/bucket/a%20b").unwrap();
        let headers = signed("GET", &url, "us-east-1", b"", "20130524T000000Z", &login);
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token", "authorization"]);
        assert_eq!(headers[0].1, "127.0.0.1:9000");
        assert_eq!(headers[1].1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let said = &headers[4].1;
        assert!(said.contains("Credential=AKID/20130524/us-east-1/s3/aws4_request, SignedHeaders="), "{said}");
        assert!(!said.contains("secret"));
    }
}
