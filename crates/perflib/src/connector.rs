//! Connections to other machines.

use std::fmt;
use std::sync::Arc;

use tachograph_counters::wildcard::eq_ignore_case;

use crate::{ErrorCode, Failure, Registry};

/// Connects to other machines. A command or the C interface installs one with [`Registry::set_connector`]; this crate
/// has none.
pub trait Connector: Send + Sync + fmt::Debug {
    /// The counter sets that a machine has now. The machine's name has no backslashes. Returns the same [`Arc`] as long as
    /// the sets have not changed.
    ///
    /// Queries on the registry collect from the machine: if it does not answer in time, the results of its sets have an
    /// error code, and later collections connect again.
    ///
    /// # Errors
    ///
    /// - [`ErrorCode::BAD_NETWORK_PATH`]: no machine with this name is known.
    /// - [`ErrorCode::SERVER_UNAVAILABLE`]: nothing answers at its address.
    /// - [`ErrorCode::ACCESS_DENIED`]: it refuses this consumer, or is not the machine that was expected.
    /// - [`ErrorCode::TIMEOUT`]: it did not answer in time.
    /// - [`ErrorCode::INVALID_DATA`]: its answer is invalid.
    /// - [`ErrorCode::NOT_SUPPORTED`]: what answers is not an agent, or has another version of the protocol.
    /// - [`ErrorCode::NO_SYSTEM_RESOURCES`]: a limit of the agent is reached.
    fn registry(&self, machine: &str) -> Result<Arc<Registry>, Failure>;

    /// The names of the machines that are connected.
    fn connected(&self) -> Vec<Arc<str>>;
}

impl Registry {
    /// Installs the connector that finds other machines.
    pub fn set_connector(&mut self, connector: Arc<dyn Connector>) {
        self.connector = Some(connector);
    }

    /// The connector that finds other machines.
    pub fn connector(&self) -> Option<&Arc<dyn Connector>> {
        self.connector.as_ref()
    }

    /// Whether a machine name, with or without leading backslashes, refers to this registry's machine.
    pub fn is_machine(&self, name: &str) -> bool {
        let name = name.trim_start_matches('\\');
        name.is_empty() || [".", "localhost", self.machine()].iter().any(|here| eq_ignore_case(name, here))
    }

    /// The registry of a machine: this one for `None`, an empty name, `.`, `localhost` and its own name; otherwise
    /// another machine's registry. The name can begin with backslashes.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::BAD_NETWORK_PATH`] for another machine if no connector is installed, or those of
    /// [`Connector::registry`].
    pub fn of_machine(self: &Arc<Self>, machine: Option<&str>) -> Result<Arc<Self>, Failure> {
        match machine {
            Some(name) if !self.is_machine(name) => match &self.connector {
                Some(connector) => connector.registry(name.trim_start_matches('\\')),
                None => {
                    Err(Failure::new(ErrorCode::BAD_NETWORK_PATH, ErrorCode::BAD_NETWORK_PATH.to_string()))
                }
            },
            _ => Ok(Arc::clone(self)),
        }
    }
}
