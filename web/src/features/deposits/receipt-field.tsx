import { useEffect } from 'react'
import { Field } from '@/components/field'
import { FileDrop, type UploadProgress } from '@/components/file-drop'
import { fieldError, type useAppForm } from '@/components/form'
import type { DepositValues } from './deposit-schema'
import { acceptedTypes, describeRule } from './receipt-file'
import { useReceiptUpload, type ReceiptState } from './use-receipt-upload'

interface ReceiptFieldProps {
  form: ReturnType<typeof useAppForm<DepositValues>>
  /** Later deposits take PDF too. */
  pdf: boolean
  maxBytes: number
}

function progressOf(state: ReceiptState): UploadProgress | undefined {
  if (state.step === 'none') return undefined
  if (state.step === 'uploading') return { state: 'sending', share: state.progress }
  if (state.step === 'done') return { state: 'done', share: 1 }
  return { state: state.canRetry ? 'failed' : 'waiting', share: 0 }
}

/** One that was uploaded before the page was loaded anew is still there. */
function firstState({ receiptUrl, receiptFile }: DepositValues): ReceiptState {
  return receiptUrl && receiptFile ? { step: 'done', file: receiptFile, url: receiptUrl } : { step: 'none' }
}

export function ReceiptField({ form, pdf, maxBytes }: ReceiptFieldProps) {
  const rule = { maxBytes, pdf }
  const { state, choose, cancel, retry } = useReceiptUpload(rule, firstState(form.getValues()))
  const url = state.step === 'done' ? state.url : ''
  const file = state.step === 'none' ? null : state.file
  const { setValue, clearErrors } = form
  useEffect(() => {
    setValue('receiptUrl', url)
    setValue('receiptFile', file && { name: file.name, size: file.size, type: file.type })
    if (url !== '') clearErrors('receiptUrl')
  }, [url, file, setValue, clearErrors])

  const missing = state.step === 'uploading' ? undefined : fieldError(form, 'receiptUrl')
  return (
    <Field
      label="Receipt"
      hint={`${describeRule(rule)}.`}
      error={state.step === 'failed' ? state.text : missing}
    >
      {(control) => (
        <FileDrop
          {...control}
          accept={acceptedTypes(rule)}
          value={file}
          onChoose={choose}
          progress={progressOf(state)}
          onCancel={cancel}
          onRetry={retry}
          doneText="Receipt uploaded successfully"
        />
      )}
    </Field>
  )
}
