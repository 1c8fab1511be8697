//! From the settings about summaries to what a loop is told about them.

use windlass_core::summary::{EndpointSettings, SummariserKind, SummariserSettings};

use crate::config::keys::Settings;
use crate::config::usage::UsageError;

pub(in crate::config) fn summariser(settings: &Settings) -> Result<SummariserSettings, UsageError> {
    let default = SummariserSettings::default();
    let kind = settings.summariser.value.unwrap_or(default.kind);
    let endpoint = match kind {
        SummariserKind::Endpoint => Some(endpoint(settings)?),
        SummariserKind::Deterministic | SummariserKind::Agent => None,
    };
    Ok(SummariserSettings {
        kind,
        endpoint,
        generate_summary: settings.generate_summary.value.unwrap_or(default.generate_summary),
        summary_max_tokens: settings
            .summary_max_tokens
            .value
            .map_or(default.summary_max_tokens, |tokens| u32::try_from(tokens.get()).unwrap_or(u32::MAX)),
        commit_message_model: settings.commit_message_model.value.clone(),
        timeout_ms: settings.summariser_timeout.value.map_or(default.timeout_ms, |ms| ms.get()),
        enabled: default.enabled,
    })
}

fn endpoint(settings: &Settings) -> Result<EndpointSettings, UsageError> {
    let base_url = settings.summariser_url.value.clone();
    let base_url =
        base_url.ok_or(UsageError::NoEndpoint { key: "summariser_url", example: "\"http://127.0.0.1:11434/v1\"" })?;
    if !base_url.starts_with("http://") && !base_url.starts_with("https://") {
        return Err(UsageError::EndpointAddress);
    }
    let model = settings.summariser_model.value.clone();
    Ok(EndpointSettings {
        base_url,
        api_key_env: settings.summariser_key_env.value.clone(),
        protocol: settings.summariser_protocol.value.unwrap_or_default(),
        model: model.ok_or(UsageError::NoEndpoint { key: "summariser_model", example: "\"gpt-5-mini\"" })?,
    })
}
