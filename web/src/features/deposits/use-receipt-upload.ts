import { useEffect, useRef, useState } from 'react'
import type { FileFacts } from '@/components/file-drop'
import { errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { uploadReceipt } from './api'
import { inspectReceipt, prepareReceipt, type PreparedReceipt, type ReceiptRule } from './receipt-file'

export type ReceiptState =
  | { step: 'none' }
  | { step: 'uploading'; file: File; progress: number }
  | { step: 'failed'; file: File; text: string; canRetry: boolean }
  | { step: 'done'; file: FileFacts; url: string }

interface Attempt {
  file: File
  receipt: PreparedReceipt
  timestamp: number
}

/** Checks a receipt, uploads it as soon as it is chosen, and can cancel, retry or replace it. */
export function useReceiptUpload(rule: ReceiptRule, first: ReceiptState) {
  const [state, setState] = useState(first)
  const running = useRef<AbortController>(null)
  const attempt = useRef<Attempt>(null)
  useEffect(() => () => running.current?.abort(), [])

  async function send(current: Attempt, retried: boolean) {
    const controller = new AbortController()
    running.current = controller
    setState({ step: 'uploading', file: current.file, progress: 0 })
    try {
      const url = await uploadReceipt(current.receipt, {
        timestamp: current.timestamp,
        retried,
        signal: controller.signal,
        onProgress: (progress) => setState({ step: 'uploading', file: current.file, progress }),
      })
      if (controller.signal.aborted) return
      setState({ step: 'done', file: current.file, url })
      toasts.success('Receipt uploaded successfully')
    } catch (error) {
      if (controller.signal.aborted) return
      const text = errorText(error, 'Failed to upload receipt')
      setState({ step: 'failed', file: current.file, text, canRetry: true })
      toasts.error('Failed to upload receipt')
    }
  }

  async function choose(file: File) {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setState({ step: 'uploading', file, progress: 0 })
    try {
      const kind = await inspectReceipt(file, rule)
      const receipt = await prepareReceipt(file, kind, rule)
      if (controller.signal.aborted) return
      attempt.current = { file, receipt, timestamp: Date.now() }
      await send(attempt.current, false)
    } catch (error) {
      if (controller.signal.aborted) return
      const text = error instanceof Error ? error.message : 'Failed to upload receipt'
      setState({ step: 'failed', file, text, canRetry: false })
    }
  }

  return {
    state,
    choose: (file: File) => void choose(file),
    cancel: () => {
      running.current?.abort()
      attempt.current = null
      setState({ step: 'none' })
    },
    retry: () => {
      if (attempt.current) void send(attempt.current, true)
    },
  }
}
