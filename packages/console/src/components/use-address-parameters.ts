import { useMemo } from "react"
import { useSearch } from "wouter/use-browser-location"

/**
 * The parameters of the address. Wouter's own hook decodes the whole before it is split, which changes a text with a
 * percent sign.
 */
export function useAddressParameters(): URLSearchParams {
  const search = useSearch()
  return useMemo(() => new URLSearchParams(search), [search])
}
