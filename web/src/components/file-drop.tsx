import { CircleCheck, FileText, ImageUp, Replace, RotateCcw } from 'lucide-react'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { cn } from '@/lib/cn'
import { Button } from './ui/button'

export interface UploadProgress {
  state: 'waiting' | 'sending' | 'done' | 'failed'
  /** From 0 to 1. */
  share: number
}

/** What is shown of a file; one that was chosen before the page was loaded anew is only known by this. */
export type FileFacts = Pick<File, 'name' | 'size' | 'type'>

interface FileDropProps {
  id: string
  /** MIME types, such as "image/png,application/pdf". */
  accept: string
  value: FileFacts | null
  /** Called with what the person chose; check type and size there and keep the rest of the form. */
  onChoose: (file: File) => void
  progress?: UploadProgress
  onCancel?: () => void
  onRetry?: () => void
  /** Shown once the file has arrived. */
  doneText?: ReactNode
  'aria-describedby'?: string
  'aria-invalid'?: true
}

function size(bytes: number): string {
  return bytes < 1_000_000
    ? `${Math.max(1, Math.round(bytes / 1000))} kB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`
}

function Preview({ file }: { file: FileFacts }) {
  const picture = useRef<HTMLImageElement>(null)
  useEffect(() => {
    const image = picture.current
    if (!image || !(file instanceof File)) return
    const address = URL.createObjectURL(file)
    image.src = address
    return () => URL.revokeObjectURL(address)
  }, [file])
  return (
    <span className="flex size-16 shrink-0 items-center justify-center overflow-hidden rounded-badge border bg-muted">
      {file instanceof File && file.type.startsWith('image/') ? (
        <img ref={picture} alt="" className="size-full object-cover" />
      ) : (
        <FileText className="size-7 stroke-[1.5] text-muted-foreground" aria-hidden />
      )}
    </span>
  )
}

function Progress({ progress, doneText }: { progress: UploadProgress; doneText?: ReactNode }) {
  if (progress.state === 'done') {
    return (
      <span className="flex items-center gap-1.5 text-compact text-positive">
        <CircleCheck className="size-4" aria-hidden />
        {doneText}
      </span>
    )
  }
  if (progress.state !== 'sending') return null
  const percent = Math.round(progress.share * 100)
  return (
    <span className="flex items-center gap-3 text-compact text-muted-foreground">
      <progress
        value={progress.share}
        max={1}
        aria-label="Upload"
        className="h-1.5 w-32 accent-(--primary)"
      />
      <span className="tabular">{percent}%</span>
    </span>
  )
}

/** A drop zone that is a button; afterwards the file, how far it is, and what can still be done. */
export function FileDrop(props: FileDropProps) {
  const { id, accept, value, onChoose, progress, onCancel, onRetry, doneText, ...described } = props
  const picker = useRef<HTMLInputElement>(null)
  const [over, setOver] = useState(false)

  function take(files: FileList | null): void {
    const file = files?.[0]
    if (file) onChoose(file)
    if (picker.current) picker.current.value = ''
  }

  const input = (
    <input
      ref={picker}
      type="file"
      accept={accept}
      className="hidden"
      tabIndex={-1}
      aria-hidden
      onChange={(event) => take(event.target.files)}
    />
  )
  const drop = {
    onDragOver: (event: React.DragEvent) => {
      event.preventDefault()
      setOver(true)
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: React.DragEvent) => {
      event.preventDefault()
      setOver(false)
      take(event.dataTransfer.files)
    },
  }

  if (!value) {
    return (
      <>
        {input}
        <button
          id={id}
          type="button"
          {...described}
          {...drop}
          onClick={() => picker.current?.click()}
          className={cn(
            'flex min-h-24 w-full items-center justify-center gap-3 rounded-control border border-dashed border-input bg-card px-4 text-left hover:bg-muted aria-invalid:border-destructive',
            over && 'bg-accent',
          )}
        >
          <ImageUp className="size-5 stroke-[1.75] text-muted-foreground" aria-hidden />
          <span className="font-semibold">Choose a file or drop it here</span>
        </button>
      </>
    )
  }
  return (
    <div {...drop} className={cn('rounded-control border border-input bg-card p-3', over && 'bg-accent')}>
      {input}
      <div className="flex flex-wrap items-center gap-3">
        <Preview file={value} />
        <span className="flex min-w-0 grow basis-40 flex-col">
          <span className="font-semibold break-all">{value.name}</span>
          <span className="tabular text-compact text-muted-foreground">{size(value.size)}</span>
          {progress ? <Progress progress={progress} doneText={doneText} /> : null}
        </span>
        <span className="flex grow gap-2 *:grow sm:grow-0">
          {progress?.state === 'sending' && onCancel ? (
            <Button variant="outline" onClick={onCancel}>
              Cancel
            </Button>
          ) : null}
          {progress?.state === 'failed' && onRetry ? (
            <Button variant="outline" onClick={onRetry}>
              <RotateCcw aria-hidden />
              Retry
            </Button>
          ) : null}
          {progress?.state !== 'sending' ? (
            <Button id={id} variant="outline" {...described} onClick={() => picker.current?.click()}>
              <Replace aria-hidden />
              Replace
            </Button>
          ) : null}
        </span>
      </div>
    </div>
  )
}
