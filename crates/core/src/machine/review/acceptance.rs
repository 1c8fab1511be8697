//! What an acceptance knows: what the developer reported, and which features were accepted.

use serde::{Deserialize, Serialize};

use crate::machine::shared::Shared;
use crate::review::Report;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Accepting {
    /// The developer says that every feature is complete, so the whole is judged.
    pub whole: bool,
    /// The developer's own account of its last turn.
    pub report: Option<Report>,
    pub accepted: Shared<Vec<AcceptedFeature>>,
}

/// A feature that the acceptor accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AcceptedFeature {
    pub iteration: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub feature: String,
    pub commit: Option<String>,
}

impl Accepting {
    /// Accepts what the developer reported.
    pub(in crate::machine) fn accept(&mut self, iteration: u32, commit: Option<String>) {
        let (id, feature) = match &self.report {
            Some(Report::Feature(report)) => (report.feature_id.clone(), report.feature.clone()),
            Some(Report::AllFeaturesComplete { .. } | Report::Unparsed { .. }) | None => (None, String::new()),
        };
        // Accepted once more is not one more; without a report nobody knows whether it is another one.
        self.accepted.retain(|known| known.id != id || (id.is_none() && known.feature != feature));
        self.accepted.push(AcceptedFeature { iteration, id, feature, commit });
    }

    pub(super) fn go_back_to(&mut self, then: &Accepting, planned: bool) {
        if planned {
            self.whole = then.whole;
        }
        self.accepted.clone_from(&then.accepted);
    }
}
