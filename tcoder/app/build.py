"""Builds a session: settings, model, workspace, tools, strategies, joined once and handed down."""

import os
import secrets
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from tcoder import __version__
from tcoder.agent import context, loop
from tcoder.agent.environment import Environment
from tcoder.agent.journal import Journal, load, private_folder, project_folder
from tcoder.agent.session import Session, StrategyRunner
from tcoder.agent.state import replay
from tcoder.app import credentials, variants
from tcoder.app.options import Options
from tcoder.config import Config, Settings
from tcoder.config import load as load_config
from tcoder.index import Index
from tcoder.models.switchboard import Switchboard
from tcoder.plugins import loader
from tcoder.protocol.budget import Budget
from tcoder.protocol.checks import CheckCommand
from tcoder.protocol.errors import SandboxError, UsageError
from tcoder.protocol.events import Notice, SessionResumed, SessionStarted, VariantChanged
from tcoder.protocol.handles import Model
from tcoder.protocol.permissions import Approval, Rule
from tcoder.protocol.variant import ModelVariant, Strategy, VariantName
from tcoder.resources import plugin_folder, prompt
from tcoder.tools import registry
from tcoder.workspace import checks, repository, sandbox
from tcoder.workspace.files import WorkspaceFiles
from tcoder.workspace.ledger import Ledger
from tcoder.workspace.shell import Shell
