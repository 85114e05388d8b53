//! What is kept of a trace: compact rows for the events that matter, texts interned.

use crate::copies::GpuCopy;
use crate::id::{Id, IdTable};
use crate::legacy::times::LegacyTimes;
use crate::names::{NO_NAME, NameId, Names};
use crate::rows::{KernelRows, LaunchRows, OperatorRows};
use crate::time::Picoseconds;
use perfdb_trace::numbering::Numbering;
use perfdb_trace::packed::Spans;
use perfdb_trace::profile::{Kind, Mark, RowSteps};
use rustc_hash::FxHashMap;

/// A kernel event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kernel {
    pub(crate) start: Picoseconds,
    pub(crate) duration: Picoseconds,
    pub(crate) correlation: Id,
    pub(crate) external: Id,
    pub(crate) name: NameId,
    pub(crate) device: u32,
    pub(crate) stream: u32,
    /// Position among all events of the file.
    pub(crate) index: u32,
}

impl Kernel {
    /// End of the kernel.
    pub(crate) fn end(&self) -> Picoseconds {
        self.start + self.duration
    }
}

/// A runtime call or the start of a flow: where a kernel was launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) start: Picoseconds,
    /// 0 for flows.
    pub(crate) duration: Picoseconds,
    pub(crate) correlation: Id,
    pub(crate) external: Id,
    pub(crate) name: NameId,
    pub(crate) thread: u32,
}

/// How many blocks of how many threads a launch asks for, in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LaunchSize {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
}

/// An operator on the host; texts of its arguments are numbers in [`Columns::arguments`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HostOperator {
    /// Only where a trace is explained there are some without.
    pub(crate) external: Id,
    pub(crate) name: NameId,
    pub(crate) thread: u32,
    /// [`HostOperator::NEVER`] where the file says nothing.
    pub(crate) start: Picoseconds,
    pub(crate) duration: Picoseconds,
    /// These two only where a trace is explained.
    pub(crate) dims: NameId,
    pub(crate) types: NameId,
}

impl HostOperator {
    pub(crate) const NEVER: Picoseconds = Picoseconds::MIN;
}

/// An operator on the host of which a formula says what it must do.
#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(8))]
pub(crate) struct OperatorCall {
    pub(crate) external: Id,
    pub(crate) name: NameId,
    pub(crate) thread: u32,
    /// [`HostOperator::NEVER`] where the file says nothing.
    pub(crate) start: Picoseconds,
    /// Longer ones than fit are cut; that is 106 days.
    pub(crate) duration: i64,
    pub(crate) arguments: CallArguments,
}

impl OperatorCall {
    /// End of the call.
    pub(crate) fn end(&self) -> Picoseconds {
        self.start + Picoseconds::from(self.duration)
    }
}

/// Arguments of an operator; texts are numbers in [`Columns::arguments`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CallArguments {
    /// Three lists, as they stand in the file.
    Lists { dims: NameId, types: NameId, values: NameId },
    /// What a collective sends.
    Message { collective: NameId, element_type: NameId, elements_in: u64, elements_out: u64, ranks: u32 },
}

impl CallArguments {
    /// The same with other numbers of its texts.
    pub(crate) fn renamed(self, text: impl Fn(NameId) -> NameId) -> CallArguments {
        match self {
            CallArguments::Lists { dims, types, values } => {
                CallArguments::Lists { dims: text(dims), types: text(types), values: text(values) }
            }
            CallArguments::Message { collective, element_type, elements_in, elements_out, ranks } => {
                let (collective, element_type) = (text(collective), text(element_type));
                CallArguments::Message { collective, element_type, elements_in, elements_out, ranks }
            }
        }
    }
}

/// A call of a Python function.
#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(8))]
pub(crate) struct Frame {
    pub(crate) start: Picoseconds,
    pub(crate) duration: Picoseconds,
    pub(crate) id: Id,
    pub(crate) parent: Id,
    pub(crate) name: NameId,
    pub(crate) thread: u32,
}

/// A step that the server annotated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Annotation {
    pub(crate) start: Picoseconds,
    pub(crate) duration: Picoseconds,
    pub(crate) name: String,
    /// The process whose launches can belong to it; nothing for those of any process.
    pub(crate) process: Option<Id>,
}

/// The rows of a trace or of a piece of it.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) names: Names,
    pub(crate) ids: IdTable,
    pub(crate) kernels: KernelRows,
    pub(crate) copies: Vec<GpuCopy>,
    /// Who wrote a profile of another form than JSON.
    pub(crate) written_by: Option<Kind>,
    /// What that profile says of its kernels, by their [`Kernel::index`].
    pub(crate) marks: Vec<Mark>,
    /// The steps of a profile without launches.
    pub(crate) row_steps: Option<RowSteps>,
    /// The operator behind each launch, a number in `operators`, where the file links them instead of nesting them.
    pub(crate) linked: Vec<Option<u32>>,
    /// What that profile lacks or has twice.
    pub(crate) notes: Vec<String>,
    /// Whether a process is one of Ascend's profiler: the file has to be read as its timeline.
    pub(crate) is_of_ascend: bool,
    pub(crate) launches: LaunchRows,
    /// Runtime calls without a correlation id; kernels have their External id alone.
    pub(crate) unlinked: LaunchRows,
    pub(crate) flows: LaunchRows,
    /// Names of the kernels that the launches say they launch, beside `launches`; only where a capture is read.
    pub(crate) launched: Vec<NameId>,
    /// Likewise the sizes of those launches.
    pub(crate) launched_sizes: Vec<Option<LaunchSize>>,
    /// Sizes of launches by [`Kernel::index`]; only where replays are joined to a capture.
    pub(crate) kernel_sizes: FxHashMap<u32, LaunchSize>,
    pub(crate) operators: OperatorRows,
    pub(crate) calls: Vec<OperatorCall>,
    /// Texts of the arguments of `calls` and `operators`.
    pub(crate) arguments: Names,
    pub(crate) frames: Vec<Frame>,
    /// In place of `frames`, where only the innermost around a launch is wanted.
    pub(crate) lone_frames: Spans,
    pub(crate) annotations: Vec<Annotation>,
    /// Steps as the profiler repeats them on the device.
    pub(crate) device_annotations: Vec<Annotation>,
    pub(crate) devices: Numbering<Id>,
    pub(crate) streams: Numbering<(u32, Id)>,
    pub(crate) threads: Numbering<(Id, Id)>,
    /// Times as doubles, where the rules want them.
    pub(crate) legacy_times: Option<LegacyTimes>,
    /// Kernels of a category with its old name, by number.
    pub(crate) old_kernels: Vec<u32>,
    /// Events of any kind.
    pub(crate) events: u32,
    /// Kernel events without a name or a start time.
    pub(crate) skipped_kernels: u64,
    /// Whether there was any `python_function` event.
    pub(crate) has_frames: bool,
    /// Whether an old profiler wrote its steps as operators, which are not annotations.
    pub(crate) has_old_steps: bool,
    pub(crate) runtimes: Runtimes,
}

/// Whose runtime the host calls are of.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Runtimes {
    /// CUDA's, or HIP's, which the profiler files under the same name.
    pub(crate) gpu: bool,
    /// That of a maker with a name of its own: Intel, Meta, Cambricon, or a private backend.
    pub(crate) other: bool,
}

/// Numbers in the tables of a trace of the names and arguments of a piece of it.
#[derive(Debug, Default)]
pub(crate) struct Adopted {
    names: Vec<NameId>,
    arguments: Vec<NameId>,
}

impl Columns {
    /// Puts the rows of the piece of the trace that follows behind these. Of the tables of names that the piece has from an earlier one,
    /// what was adopted then is.
    pub(crate) fn append(&mut self, piece: &mut Columns, adopted: &mut Adopted) {
        self.names.adopt_new(&piece.names, &mut adopted.names);
        let names = adopted.names.as_slice();
        let name = |id: NameId| names.get(id as usize).copied().unwrap_or(NO_NAME);
        if !piece.ids.is_empty() {
            piece.adopt_ids(&mut self.ids);
        }
        let devices: Vec<u32> = piece.devices.keys().iter().map(|key| self.devices.number(*key)).collect();
        let streams: Vec<u32> = piece
            .streams
            .keys()
            .iter()
            .map(|(device, stream)| self.streams.number((devices[*device as usize], *stream)))
            .collect();
        let threads: Vec<u32> = piece.threads.keys().iter().map(|key| self.threads.number(*key)).collect();
        let kernels = self.kernels.len() as u32;
        self.old_kernels.extend(piece.old_kernels.iter().map(|kernel| kernels + kernel));
        let stream = |number: u32| {
            let (device, _) = piece.streams.keys()[number as usize];
            (devices[device as usize], streams[number as usize])
        };
        self.kernels.append(&piece.kernels, self.events, name, stream);
        self.copies.extend(piece.copies.iter().map(|copy| GpuCopy {
            device: devices[copy.device as usize],
            stream: streams[copy.stream as usize],
            ..*copy
        }));
        let thread = |number: u32| threads[number as usize];
        self.launches.append(&piece.launches, name, thread);
        self.flows.append(&piece.flows, name, thread);
        self.unlinked.append(&piece.unlinked, name, thread);
        self.launched.extend(piece.launched.iter().map(|kernel| name(*kernel)));
        self.launched_sizes.append(&mut piece.launched_sizes);
        self.kernel_sizes.extend(piece.kernel_sizes.drain().map(|(index, size)| (self.events + index, size)));
        self.arguments.adopt_new(&piece.arguments, &mut adopted.arguments);
        let arguments = adopted.arguments.as_slice();
        let text = |id: NameId| arguments.get(id as usize).copied().unwrap_or(NO_NAME);
        self.calls.extend(piece.calls.iter().map(|call| OperatorCall {
            name: name(call.name),
            thread: threads[call.thread as usize],
            arguments: call.arguments.renamed(text),
            ..*call
        }));
        self.operators.append(&piece.operators, name, thread, text);
        self.frames.extend(piece.frames.iter().map(|frame| Frame {
            name: name(frame.name),
            thread: threads[frame.thread as usize],
            ..*frame
        }));
        self.lone_frames.append(&piece.lone_frames, name, thread);
        self.annotations.append(&mut piece.annotations);
        self.device_annotations.append(&mut piece.device_annotations);
        if let Some(times) = piece.legacy_times.take() {
            self.legacy_times.get_or_insert_default().append(times);
        }
        self.is_of_ascend |= piece.is_of_ascend;
        self.events += piece.events;
        self.skipped_kernels += piece.skipped_kernels;
        self.has_frames |= piece.has_frames;
        self.has_old_steps |= piece.has_old_steps;
        self.runtimes.gpu |= piece.runtimes.gpu;
        self.runtimes.other |= piece.runtimes.other;
    }

    /// What the profile says of a kernel beside its name.
    pub(crate) fn mark_of(&self, kernel: Kernel) -> Mark {
        self.marks.get(kernel.index as usize).copied().unwrap_or_default()
    }

    /// Kernels under the name of an old category are none where the trace has others: it was written by something else.
    pub(crate) fn leave_out_old_kernels(&self, kernels: &mut KernelRows) {
        if self.old_kernels.is_empty() || self.old_kernels.len() == kernels.len() {
            return;
        }
        let mut old = self.old_kernels.iter().peekable();
        kernels.retain(|at| old.next_if_eq(&&(at as u32)).is_none());
    }

    /// Replaces ids of this piece's table by those of `table`.
    fn adopt_ids(&mut self, table: &mut IdTable) {
        let ids = std::mem::take(&mut self.ids);
        let mut adopt = |id: Id| table.adopt(id, &ids);
        self.kernels.rename_ids(&mut adopt);
        for copy in &mut self.copies {
            copy.correlation = adopt(copy.correlation);
        }
        for launches in [&mut self.launches, &mut self.flows, &mut self.unlinked] {
            launches.rename_ids(&mut adopt);
        }
        self.operators.rename_ids(&mut adopt);
        for call in &mut self.calls {
            call.external = adopt(call.external);
        }
        for frame in &mut self.frames {
            (frame.id, frame.parent) = (adopt(frame.id), adopt(frame.parent));
        }
        self.lone_frames.rename_ids(&mut adopt);
        self.devices.rename(|device| table.adopt(device, &ids));
        self.streams.rename(|(device, stream)| (device, table.adopt(stream, &ids)));
        self.threads.rename(|(process, thread)| (table.adopt(process, &ids), table.adopt(thread, &ids)));
    }
}
