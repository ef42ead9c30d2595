// What autograd asks of a GPU before it works on its tensors: which device and stream are current, and events between
// streams. The pretended one has one device and one stream, on which all is done when it is asked for.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace at {

struct PretendedGuard : c10::impl::NoOpDeviceGuardImpl<kCUDA> {
  c10::Device getDevice() const override { return {kCUDA, 0}; }
  c10::Device exchangeDevice(c10::Device) const override { return getDevice(); }
  c10::Stream getStream(c10::Device) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, c10::Device(kCUDA, 0));
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override { return stream; }
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
};

struct PretendedHooks : CUDAHooksInterface {
  explicit PretendedHooks(CUDAHooksArgs) {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return false; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
};

C10_REGISTER_TYPED_CLASS(CUDAHooksRegistry, "CUDAHooks", PretendedHooks)
static c10::impl::DeviceGuardImplRegistrar registrar(kCUDA, new PretendedGuard());

}  // namespace at
