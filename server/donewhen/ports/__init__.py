"""The protocols that the engine works through. Adapters implement them; none of them knows another.

Paths are posix, relative to the workspace's root, unless a name says otherwise. Times are seconds.
"""

from __future__ import annotations

from donewhen.core.work import ModelFacts as ModelFacts
from donewhen.core.work import Price as Price
from donewhen.ports.folder import (
    Dialogue as Dialogue,
    EditorView as EditorView,
    KeptTrees as KeptTrees,
    Processes as Processes,
    ProcessOptions as ProcessOptions,
    ProcessResult as ProcessResult,
    TreeState as TreeState,
    Workspace as Workspace,
)
from donewhen.ports.models import (
    AskEditor as AskEditor,
    Calling as Calling,
    EditorSilent as EditorSilent,
    Measured as Measured,
    Model as Model,
    ModelNote as ModelNote,
    ModelNotes as ModelNotes,
    ModelReply as ModelReply,
    ModelRequest as ModelRequest,
    ToolSpec as ToolSpec,
    no_editor_to_ask as no_editor_to_ask,
    of_an_editor as of_an_editor,
)
from donewhen.ports.plugging import (
    AuditAhead as AuditAhead,
    PluginHost as PluginHost,
    Plugins as Plugins,
    PluginTool as PluginTool,
    Stopping as Stopping,
    ToolDoer as ToolDoer,
    TurnAhead as TurnAhead,
    TurnBehind as TurnBehind,
    VerdictReport as VerdictReport,
)
from donewhen.ports.proving import (
    AuditContext as AuditContext,
    Calls as Calls,
    Checker as Checker,
    FilesOf as FilesOf,
    FileText as FileText,
    Found as Found,
    GuardedFiles as GuardedFiles,
    Hit as Hit,
    Judge as Judge,
    Judgement as Judgement,
    JudgeTask as JudgeTask,
    Left as Left,
    Probes as Probes,
    Turn as Turn,
    TurnContext as TurnContext,
    Worker as Worker,
)
from donewhen.ports.records import (
    Clock as Clock,
    Ledger as Ledger,
    Live as Live,
    NoTracer as NoTracer,
    Owner as Owner,
    People as People,
    RunLock as RunLock,
    RunSummary as RunSummary,
    TakeAct as TakeAct,
    Tracer as Tracer,
    Trouble as Trouble,
)
from donewhen.ports.rooms import (
    Grants as Grants,
    Laid as Laid,
    LiveRoom as LiveRoom,
    LiveRooms as LiveRooms,
    Room as Room,
    RoomLimits as RoomLimits,
    Rooms as Rooms,
)
