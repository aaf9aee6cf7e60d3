import { useEffect } from 'react'
import { useProductName } from './platform'

export function useDocumentTitle(title: string): void {
  const product = useProductName()
  useEffect(() => {
    document.title = title === product ? product : `${title} - ${product}`
  }, [title, product])
}
