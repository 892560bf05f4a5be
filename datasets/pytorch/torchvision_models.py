"""Models of ``torchvision`` for classification, segmentation, video and optical flow: the small ones of each family."""

from __future__ import annotations

MODELS = {
    "alexnet": "alexnet",
    "convnext": "convnext_tiny",
    "deeplabv3": "deeplabv3_mobilenet_v3_large deeplabv3_resnet50",
    "densenet": "densenet121 densenet169",
    "efficientnet": "efficientnet_b0 efficientnet_b1 efficientnet_v2_s",
    "fcn": "fcn_resnet50",
    "googlenet": "googlenet",
    "inception": "inception_v3",
    "lraspp": "lraspp_mobilenet_v3_large",
    "maxvit": "maxvit_t",
    "mnasnet": "mnasnet0_5",
    "mobilenet": "mobilenet_v2 mobilenet_v3_large mobilenet_v3_small",
    "mvit": "mvit_v1_b mvit_v2_s",
    "raft": "raft_small",
    "regnet": "regnet_x_400mf regnet_y_400mf",
    "resnet": "resnet18 resnet34 resnet50 wide_resnet50_2 r3d_18 mc3_18 r2plus1d_18",
    "resnext": "resnext50_32x4d",
    "s3d": "s3d",
    "shufflenet": "shufflenet_v2_x0_5",
    "squeezenet": "squeezenet1_0 squeezenet1_1",
    "swin": "swin_t swin_v2_t swin3d_t",
    "vgg": "vgg11 vgg13 vgg11_bn vgg13_bn",
    "vit": "vit_b_16",
}
